# PowerShell completion of skillet: skillet completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName 'skillet' -ScriptBlock {
    param($begun, $line, $cursor)
    $elements = @($line.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursor })
    $program = $elements[0].Extent.Text
    $words = @($elements | Select-Object -Skip 1 | ForEach-Object { $_.Extent.Text })
    if ($begun -eq '') {
        # Before 7.3 an empty argument was not handed over.
        $words += $(if ($PSVersionTable.PSVersion -ge [version]'7.3') { '' } else { '""' })
    }
    & $program __complete '--' @words 2>$null | ForEach-Object {
        $word, $about = $_ -split "`t", 2
        if (-not $about) { $about = $word }
        $text = $(if ($word -match '[\s''"`$(){};,|&<>@#]') { "'" + $word.Replace("'", "''") + "'" } else { $word })
        [System.Management.Automation.CompletionResult]::new($text, $word, 'ParameterValue', $about)
    }
}
