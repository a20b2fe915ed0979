# fish completion of skillet: skillet completion fish > ~/.config/fish/completions/skillet.fish

function __skillet_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    $program __complete -- $words "$last" 2>/dev/null
end

function __skillet_knows
    __skillet_complete | string length -q
end

complete -c skillet -n __skillet_knows -f -a '(__skillet_complete)'
