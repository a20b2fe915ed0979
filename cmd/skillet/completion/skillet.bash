# bash completion of skillet: source <(skillet completion bash)

_skillet() {
  local rest=$COMP_LINE word last line i n=-1
  local -a words=()
  # bash also splits words at : = and @; skillet does not.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ i -eq 0 || $rest == [[:space:]]* ]]; then
      n=$((n + 1))
      words[n]=$word
    else
      words[n]+=$word
    fi
    rest=${rest#"${rest%%[![:space:]]*}"}
    rest=${rest#"$word"}
  done
  # What bash replaces is the part behind the last split.
  last=${COMP_WORDS[COMP_CWORD]}
  [[ $last == [:=@] ]] && last=
  local before=${words[n]%"$last"} quoted=
  # Between quotes nothing is split, and nothing needs another quote.
  [[ $last == [\'\"]* ]] && quoted=1
  COMPREPLY=()
  while IFS= read -r line; do
    line=${line%%$'\t'*}
    if [[ -n $quoted ]]; then
      line=${line#"$before"}
    else
      printf -v line %q "${line#"$before"}"
    fi
    COMPREPLY+=("$line")
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *[:=/] ]] && compopt -o nospace 2>/dev/null
  return 0
}

complete -o bashdefault -o default -F _skillet skillet
