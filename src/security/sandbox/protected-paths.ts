/**
 * What can be written to of a home directory, and what of a workspace must stay as it is. Data; a new one is a line.
 */

/**
 * What somebody else executes, or obeys, when it lies in the top of a workspace: read-only where it is there, together
 * with the directory of settings that it is in.
 */
export const PROTECTED_IN_WORKSPACE: readonly string[] = [
  'mcp-shell-server.toml',
  '.mcp.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/hooks',
  '.cursor/mcp.json',
  '.cursor/hooks.json',
  '.vscode/mcp.json',
  '.vscode/tasks.json',
  '.vscode/launch.json',
  '.vscode/settings.json',
  '.codex/config.toml',
  '.gemini/settings.json',
  '.windsurf/mcp.json',
  '.roo/mcp.json',
  '.kiro/settings/mcp.json',
  'opencode.json',
  'opencode.jsonc',
  '.zed/settings.json',
  '.idea/workspace.xml',
  // Its commands run on the host before there is a container.
  '.devcontainer/devcontainer.json',
  '.devcontainer.json',
  '.envrc',
  // What npx would start instead of the server, in a client that starts it here.
  'node_modules/.bin/mcp-shell-server',
];

/** Directories inside of those in which work goes on. */
export const WORK_IN_PROTECTED: readonly string[] = ['.claude/worktrees'];

/** Of each repository in a workspace, below its .git. */
export const PROTECTED_IN_GIT: readonly string[] = [
  'hooks',
  'config',
  'config.worktree',
  'commondir',
  'info/attributes',
];

/** Start-up files of shells and sessions, where the home directory is the workspace or inside it. */
export const PROTECTED_IN_HOME: readonly string[] = [
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.kshrc',
  '.cshrc',
  '.tcshrc',
  '.login',
  '.inputrc',
  '.config/fish',
  '.config/zsh',
  '.config/nushell',
  '.config/autostart',
  '.config/systemd',
  '.config/environment.d',
  '.config/git',
  '.config/nvim',
  '.config/Code',
  '.config/Cursor',
  '.config/zed',
  '.config/mise',
  '.config/direnv',
  '.local/bin',
  '.local/share/systemd',
  '.local/share/applications',
  '.local/share/dbus-1',
  'bin',
  '.gitconfig',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.pam_environment',
  '.xprofile',
  '.xinitrc',
  '.xsession',
  '.xsessionrc',
  '.vimrc',
  '.vim',
  '.emacs',
  '.emacs.d',
  '.tmux.conf',
  '.screenrc',
  '.gdbinit',
  '.lldbinit',
  '.pdbrc',
  '.pythonrc',
  '.Rprofile',
  '.irbrc',
  '.cargo/bin',
  '.cargo/config.toml',
  '.cargo/env',
  '.nvm',
  '.pyenv',
  '.rbenv',
  '.rustup',
  '.asdf',
  '.sdkman',
  '.volta',
  'Library/LaunchAgents',
];

/** Caches that package managers fill; poisoning them is the price of builds that just work. */
export const TOOL_CACHES: readonly string[] = [
  '.cache',
  '.npm',
  '.yarn/berry/cache',
  '.pnpm-store',
  '.local/share/pnpm/store',
  '.bun/install/cache',
  '.node-gyp',
  '.cargo/registry',
  '.cargo/git',
  'go/pkg',
  '.m2/repository',
  '.gradle/caches',
  '.gradle/wrapper',
  '.gradle/daemon',
  '.gradle/native',
  '.gradle/kotlin',
  '.ivy2/cache',
  '.sbt/boot',
  '.konan/cache',
  '.nuget/packages',
  '.dotnet/toolResolverCache',
  '.composer/cache',
  '.cabal/packages',
  '.stack/pantry',
  '.hex/packages',
  '.pub-cache/hosted',
  '.ccache',
  '.electron-gyp',
  '.terraform.d/plugin-cache',
  'Library/Caches',
];

/** Caches of programs that are run on demand. Inside they are others: what runs outside must not come from inside. */
export const PRIVATE_CACHES: readonly string[] = ['.npm/_npx', '.cache/uv', '.cache/pre-commit'];

/** Of .cache, what every shell of the user sources or runs. */
export const PROTECTED_CACHES = /^(?:p10k-|gitstatus|oh-my-zsh|zsh|starship|direnv)/;

/** Made where they are missing, as the tools themselves would, if the directory before the bar is there. */
export const CACHES_TO_MAKE: readonly (readonly [there: string, cache: string])[] = [
  ['', '.cache'],
  ['', '.npm'],
  ['.cargo', '.cargo/registry'],
  ['.cargo', '.cargo/git'],
  ['.m2', '.m2/repository'],
  ['.gradle', '.gradle/caches'],
  ['.gradle', '.gradle/wrapper'],
  ['.gradle', '.gradle/daemon'],
  ['.gradle', '.gradle/native'],
  ['go', 'go/pkg'],
  ['.local/share/pnpm', '.local/share/pnpm/store'],
  ['.bun', '.bun/install/cache'],
];
