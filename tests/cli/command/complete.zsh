# What zsh's completion offers at the end of each of the given lines: "<word>" for each match, then
# "<<END>>".  usage: zsh -f complete.zsh SCRIPT LINE...
# A second zsh runs behind a pseudo-terminal and gets the Tab key; its compadd tells each match.
zmodload zsh/zpty
script=$1
shift
zpty z zsh -f -i
zpty -w z "autoload -U compinit; compinit -D -u; source ${(q)script}; compdef _raygpu raygpu"
zpty -w z 'PS1=
compadd() {
  local -a found
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  builtin compadd -A found "$@"
  (( $#found )) && print -rn -- "<${(pj:>\n<:)found}>"
  builtin compadd "$@"
}
tell() { _main_complete; compstate[list]=; compstate[insert]=; print -rn -- "<<""END>>"; }
zle -C tell complete-word tell
bindkey "^I" tell
bindkey "^U" kill-whole-line
print "<<""READY>>"'
zpty -r z seen '*<<READY>>*'
for line in "$@"; do
  zpty -n -w z $'\C-u'"$line"$'\t'
  zpty -r z seen '*<<END>>*'
  print -r -- "$seen"
done
zpty -d z
