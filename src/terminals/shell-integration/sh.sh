# Read by a plain shell through $ENV. Such shells only have a prompt to say things in: how the last command ended.
# A line that becomes another before it is run cannot be judged.
if [ -n "${BASH_VERSION-}" ]; then set +o histexpand; fi
__mcp_esc=$(printf '\033]133')
__mcp_end=$(printf ';aid=%s\007' "${MCP_SHELL_NONCE-}")
PS1="$__mcp_esc;D;"'$?;$-'"$__mcp_end$__mcp_esc;A$__mcp_end${PS1-\$ }$__mcp_esc;B$__mcp_end"
unset MCP_SHELL_NONCE ENV __mcp_esc __mcp_end
