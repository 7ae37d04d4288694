# Lets the shell mark its prompts and commands, so that the terminal knows when one has ended, how, and what it wrote.
__mcp_nonce=${MCP_SHELL_NONCE-}
unset MCP_SHELL_NONCE MCP_SHELL_ZDOTDIR __mcp_scripts
if [[ -n $__mcp_user ]]; then ZDOTDIR=$__mcp_user; else unset ZDOTDIR; fi
unset __mcp_user
if [[ -r ${ZDOTDIR:-$HOME}/.zshrc ]]; then source ${ZDOTDIR:-$HOME}/.zshrc; fi

# Where it cannot be kept, zsh would say so at every command.
if [[ -n ${HISTFILE-} && ! -w ${HISTFILE:h} ]]; then unset HISTFILE; fi
# Drawn before we are asked, it would be taken for output.
PROMPT_EOL_MARK=''

# A line that becomes another before it is run cannot be judged; and `!` in a text is meant as it is.
unsetopt BANG_HIST

__mcp_ended() {
  local code=$? flags=''
  if [[ -o BANG_HIST ]]; then flags=H; fi
  builtin print -n "\e]133;D;$code;$flags;aid=$__mcp_nonce\a"
  if [[ $PS1 != *"133;B;aid=$__mcp_nonce"* ]]; then
    PS1="%{"$'\e'"]133;A;aid=$__mcp_nonce"$'\a'"%}$PS1%{"$'\e'"]133;B;aid=$__mcp_nonce"$'\a'"%}"
  fi
  # zsh says so after its prompt only: what is typed at once would not be pasted.
  if [[ -o zle ]] && zmodload zsh/zle 2>/dev/null; then builtin print -n -- ${zle_bracketed_paste[1]-}; fi
}
__mcp_begins() { builtin print -n "\e]133;C;aid=$__mcp_nonce\a"; }
precmd_functions=(__mcp_ended $precmd_functions)
preexec_functions+=(__mcp_begins)
