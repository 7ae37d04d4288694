/**
 * What can be written to of a home directory, and what of a workspace must stay as it is. Data; a new one is a line.
 */

/** What somebody else executes, or obeys, when it lies in the top of a workspace: read-only where it is there. */
export const PROTECTED_IN_WORKSPACE: readonly string[] = [
  'mcp-shell-server.toml',
  '.mcp.json',
  '.claude',
  '.cursor',
  '.vscode',
  '.codex',
  '.gemini',
  '.windsurf',
  '.zed',
  '.idea',
  '.envrc',
  '.gitmodules',
];

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

/** The two that nearly every build wants; made where they are missing, as the tools themselves would. */
export const CACHES_TO_MAKE: readonly string[] = ['.cache', '.npm'];
