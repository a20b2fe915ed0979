#compdef skillet
# zsh completion of skillet: skillet completion zsh > ~/.zfunc/_skillet

_skillet() {
  local line value
  local -a whole begun
  for line in "${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    value=${line%%$'\t'*}
    line=${value//:/\\:}:${line#*$'\t'}
    if [[ $value == *[:=/] ]]; then
      begun+=("$line")
    else
      whole+=("$line")
    fi
  done
  if (( ! $#whole && ! $#begun )); then
    _files
    return
  fi
  (( ! $#whole )) || _describe -t skillet skillet whole
  (( ! $#begun )) || _describe -t skillet skillet begun -S ''
}

if [[ $funcstack[1] == _skillet ]]; then
  _skillet "$@"
else
  compdef _skillet skillet
fi
