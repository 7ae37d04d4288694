# zsh is started with its start-up files here; those of the user are read from where they are.
__mcp_scripts=$ZDOTDIR
if [[ -n ${MCP_SHELL_ZDOTDIR-} ]]; then ZDOTDIR=$MCP_SHELL_ZDOTDIR; else unset ZDOTDIR; fi
if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then source ${ZDOTDIR:-$HOME}/.zshenv; fi
__mcp_user=${ZDOTDIR-}
ZDOTDIR=$__mcp_scripts
