# Read by bash instead of ~/.bashrc, which is read first. Lets the shell mark its prompts and commands, so that the
# terminal knows when a command has ended, how, and what it wrote.
__mcp_nonce=${MCP_SHELL_NONCE-}
unset MCP_SHELL_NONCE
if [ -r ~/.bashrc ]; then . ~/.bashrc; fi

# A line that becomes another before it is run cannot be judged; and `!` in a text is meant as it is.
set +H

__mcp_ended() {
  local code=$? editing=other
  # In vi mode, Escape makes commands of letters.
  if [[ -o emacs ]]; then editing=emacs; fi
  builtin printf '\e]133;D;%s;%s;%s;aid=%s\a' "$code" "$-" "$editing" "$__mcp_nonce"
  return "$code"
}

# Last of all: other programs may set the prompt anew each time.
__mcp_mark_prompt() {
  local code=$?
  case $PS1 in
    *"133;B;aid=$__mcp_nonce"*) ;;
    *) PS1="\[\e]133;A;aid=$__mcp_nonce\a\]$PS1\[\e]133;B;aid=$__mcp_nonce\a\]" ;;
  esac
  return "$code"
}

# It may be an array from bash 5.1 on. Asked without another process, which the first prompt would wait for.
if ((BASH_VERSINFO[0] >= 5)) && [[ -n ${PROMPT_COMMAND+x} && ${PROMPT_COMMAND@a} == *a* ]]; then
  PROMPT_COMMAND=(__mcp_ended "${PROMPT_COMMAND[@]}" __mcp_mark_prompt)
else
  PROMPT_COMMAND="__mcp_ended${PROMPT_COMMAND:+; ${PROMPT_COMMAND%;}}; __mcp_mark_prompt"
fi
PS0="\e]133;C;aid=$__mcp_nonce\a${PS0-}"
