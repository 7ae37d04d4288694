/**
 * What can be written to of a home directory, and what of a workspace must stay as it is. Data; a new one is a line.
 */

/**
 * What programs outside execute or trust at the top of a workspace: read-only where it is there, together
 * with the directory of settings that it is in.
 */
export const PROTECTED_IN_WORKSPACE: readonly string[] = [
  'mcp-shell-server.toml',
  '.mcp.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/hooks',
  '.claude/commands',
  '.claude/agents',
  '.claude/skills',
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
  '.amazonq',
  '.trae/mcp.json',
  '.qwen/settings.json',
  '.kilocode/mcp.json',
  '.junie/mcp',
  '.factory',
  '.augment',
  '.amp/settings.json',
  '.continue',
  '.crush.json',
  'crush.json',
  'opencode.json',
  'opencode.jsonc',
  '.opencode',
  '.zed',
  '.idea',
  // Its commands run on the host before there is a container.
  '.devcontainer/devcontainer.json',
  '.devcontainer.json',
  '.envrc',
  // Hooks and aliases of other version control systems.
  '.hg/hgrc',
  '.hg/hgrc-not-shared',
  '.hg/sharedpath',
  '.jj/repo/config.toml',
  '.jj/workspace-config.toml',
  '.sl/config',
  '.sl/sharedpath',
  // What npx would start instead of the server, in a client that starts it here.
  'node_modules/.bin/mcp-shell-server',
];

/** Directories of these in which programs write all the time: only the file itself is protected. */
export const WRITTEN_AROUND = /^(?:node_modules|\.hg|\.jj|\.sl)\//;

/** Directories inside of those in which work goes on. */
export const WORK_IN_PROTECTED: readonly string[] = ['.claude/worktrees'];

/** The same by what the name is like. */
export const PROTECTED_NAMES = /\.code-workspace$/;

/** It names compilers and programs that run before them, and lies in a cache that commands can write to. */
export const CONFIGURATION_IN_CACHES: readonly string[] = [
  '.ccache/ccache.conf',
  '.cache/ccache/ccache.conf',
];

/**
 * Start-up files and programs of the user's, where the directory around them can be written to. Of a home directory that is
 * the workspace everything with a dot is protected besides.
 */
export const PROTECTED_IN_HOME: readonly string[] = [
  'bin',
  'go/bin',
  'Library/LaunchAgents',
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
  '.config/ccache',
  '.local/bin',
  '.local/share/systemd',
  '.local/share/applications',
  '.local/share/dbus-1',
  '.cargo/bin',
  '.cargo/config.toml',
  '.cargo/env',
  ...CONFIGURATION_IN_CACHES,
];

/** Those at the top of a home directory, which often lead to a repository of such files that is worked on. */
export const START_UP_FILES: readonly string[] = [
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.inputrc',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.cshrc',
  '.tcshrc',
  '.kshrc',
  '.mkshrc',
  '.xprofile',
  '.xsessionrc',
  '.gitconfig',
  '.hgrc',
  '.vimrc',
  '.vim',
  '.emacs',
  '.emacs.d',
  '.tmux.conf',
  '.screenrc',
  '.gdbinit',
  '.lldbinit',
  '.direnvrc',
  '.oh-my-zsh',
  '.bashrc.d',
  '.zsh',
  '.zfunc',
];

/** Directories of such files, whose links are followed. */
export const START_UP_DIRECTORIES: readonly string[] = [
  '.config/fish',
  '.config/zsh',
  '.config/nushell',
  '.config/git',
];

/** Caches that package managers fill; poisoning them is the price of builds that just work. */
export const TOOL_CACHES: readonly string[] = [
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

/**
 * Caches of programs that are run on demand, and registries by which clients find build servers. Inside they are others:
 * what runs outside must not come from inside, nor be told what to build.
 */
export const PRIVATE_CACHES: readonly string[] = ['.npm/_npx', '.gradle/daemon'];

/** In the directory that is kept for a principal: what is `~/.cache` inside. */
export const OWN_CACHE = '.cache';

/** Of `~/.cache`, what package managers and build tools fill; the rest is another directory inside. */
export const SHARED_IN_CACHE: readonly string[] = [
  'pip',
  'pypoetry',
  'pdm',
  'pipenv',
  'conda',
  'go-build',
  'golangci-lint',
  'gopls',
  'yarn',
  'pnpm',
  'node',
  'node-gyp',
  'deno',
  'typescript',
  'turbo',
  'prisma',
  'electron',
  'electron-builder',
  'Cypress',
  'ms-playwright',
  'puppeteer',
  'selenium',
  'ccache',
  'sccache',
  'zig',
  'cabal',
  'stack',
  'dune',
  'rebar3',
  'elixir_make',
  'composer',
  'coursier',
  'vcpkg',
  'helm',
  'trivy',
  'huggingface',
  'torch',
  'fontconfig',
  'R',
];

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
