# Lets the shell mark its prompts and commands, so that the terminal knows when one has ended, how, and what it wrote.
set -g __mcp_nonce $MCP_SHELL_NONCE
set -e MCP_SHELL_NONCE
set -g fish_greeting

# Where it may not write to the home directory, fish was started with its own files elsewhere.
if test "$XDG_CONFIG_HOME" = /tmp/.mcp-shell-fish
    # Without this directory it reads every manual page of the system, to complete commands.
    mkdir -p /tmp/.mcp-shell-fish/fish/generated_completions 2>/dev/null
    for place in XDG_CONFIG_HOME XDG_DATA_HOME
        set -l own MCP_SHELL_$place
        set -q $own; and set -gx $place $$own; or set -e $place
        set -e $own
    end
    set -l config ~/.config/fish
    set -q XDG_CONFIG_HOME; and set config $XDG_CONFIG_HOME/fish
    set -p fish_function_path $config/functions
    for file in $config/conf.d/*.fish $config/config.fish
        test -r $file; and source $file
    end
end

function __mcp_begins --on-event fish_preexec
    printf '\e]133;C;aid=%s\a' $__mcp_nonce
end

function __mcp_ended --on-event fish_postexec
    printf '\e]133;D;%s;;aid=%s\a' $status $__mcp_nonce
end

function __mcp_cancelled --on-event fish_cancel
    printf '\e]133;D;130;;aid=%s\a' $__mcp_nonce
end

# They are shown as if they stood on the line.
set -g fish_autosuggestion_enabled 0

functions --query fish_prompt; or source (status fish-path | string replace -r 'bin/fish$' 'share/fish/functions/fish_prompt.fish') 2>/dev/null
functions --copy fish_prompt __mcp_prompt
function fish_prompt
    printf '\e]133;A;aid=%s\a' $__mcp_nonce
    __mcp_prompt
    printf '\e]133;B;aid=%s\a' $__mcp_nonce
end
