/**
 * Variables through which a harmless program runs, loads or writes something else, or through which the shell reads a
 * command differently. Patterns over the whole name, with names that they meet and names that they do not.
 */
import { setOf } from '../../list.ts';

export interface DangerousVariables {
  readonly pattern: RegExp;
  readonly why: string;
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}

export const DANGEROUS_VARIABLES: readonly DangerousVariables[] = [
  {
    pattern: /^(?:PATH|CDPATH|HOME|SHELL|TMPDIR|EXECIGNORE|GLOBIGNORE|FIGNORE|FPATH|MANPATH|INFOPATH)$/,
    why: 'decides which programs and files are found',
    match: ['PATH', 'HOME', 'CDPATH'],
    notMatch: ['MYPATH', 'PATHS'],
  },
  {
    pattern:
      /^(?:LD|DYLD|_RLD)_|^(?:GCONV_PATH|LOCPATH|NLSPATH|GLIBC_TUNABLES|HOSTALIASES|RES_OPTIONS|LOCALDOMAIN|MALLOC_TRACE|GETCONF_DIR|OPENSSL_CONF|OPENSSL_MODULES|OPENSSL_ENGINES|SSLKEYLOGFILE)$/,
    why: 'loads code into every program',
    match: ['LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH'],
    notMatch: ['LDFLAGS_X', 'OLD_X'],
  },
  {
    pattern:
      /^(?:ENV|IFS|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|POSIXLY_CORRECT|HISTFILE|HISTCMD|HISTCONTROL|INPUTRC|MAILPATH|MAIL|OPTIND|TIMEFORMAT|COMP_WORDBREAKS|COMPREPLY|DIRSTACK|FUNCNAME|GROUPS|FUNCNEST|EMACS|INSIDE_EMACS|ZDOTDIR|KSH_ENV)$|^BASH(?:_|$)/,
    why: 'decides how the shell reads or runs commands',
    match: ['BASH_ENV', 'IFS', 'PS4', 'PROMPT_COMMAND', 'BASH_FUNC_ls%%'],
    notMatch: ['ENVIRONMENT', 'PS5', 'NODE_ENV_NAME'],
  },
  {
    pattern: /^GIT_|^(?:SSH|RSYNC|CVS|SVN|HG|GPG|GNUPG)[A-Z_]*$|^(?:HGRCPATH|EMAIL)$/,
    why: 'makes git, ssh and their like run programs',
    match: ['GIT_SSH_COMMAND', 'GIT_PAGER', 'SSH_ASKPASS', 'RSYNC_RSH', 'GNUPGHOME'],
    notMatch: ['DIGIT_X', 'LEGIT'],
  },
  {
    pattern:
      /PAGER$|EDITOR$|^(?:VISUAL|BROWSER|LESS|LESSOPEN|LESSCLOSE|LESSKEY.*|MORE|MANOPT|MANROFFOPT|PAGER.*|VIMINIT|GVIMINIT|EXINIT|MYVIMRC|VIM|VIMRUNTIME|FCEDIT|SUDO_ASKPASS|TERMINFO|TERMINFO_DIRS|TERMCAP|TERMPATH|GROFF_.*|BAT_.*|RIPGREP_CONFIG_PATH|FZF_.*|TAR_OPTIONS|RSH|TAPE|GZIP|ZIPOPT|UNZIP|XZ_OPT|XZ_DEFAULTS|CURL_HOME|WGETRC|ACKRC|LS_OPTIONS|DIFF_OPTIONS|GREP_OPTIONS|COREPACK_.*)$/,
    why: 'names a program that others run, or options for them',
    match: ['PAGER', 'MANPAGER', 'EDITOR', 'LESSOPEN', 'TAR_OPTIONS', 'RIPGREP_CONFIG_PATH'],
    notMatch: ['LESSON', 'EDITORS'],
  },
  {
    pattern:
      /^(?:NODE|PYTHON|PERL|PERL5|RUBY|GEM|BUNDLE|LUA|PHP|JULIA|DOTNET|COMPLUS|R|TCL|GUILE|ERL|ELIXIR|MIX|DENO|BUN|NVM|PYENV|RBENV|VIRTUALENV|UV|POETRY|PIPENV|CONDA)_|^(?:PYTHON|PERL|RUBY|LUA|PHP)[A-Z0-9]+$|^(?:NODE_OPTIONS|CLASSPATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_HOME|JAVA_OPTS|MAVEN_[A-Z]+|GRADLE_[A-Z_]+|ANT_[A-Z]+|SBT_[A-Z]+)$/,
    why: 'loads code into interpreters',
    match: ['NODE_OPTIONS', 'PYTHONPATH', 'PERL5LIB', 'RUBYOPT', 'JAVA_TOOL_OPTIONS', 'NODE_PATH'],
    notMatch: ['PYTHON', 'NODES'],
  },
  {
    pattern:
      /^npm_|^NPM_|^YARN_|^PNPM_|^PIP_|^(?:CARGO|RUST|RUSTC|RUSTUP|RUSTDOC)[A-Z_]*$|^GO[A-Z]+$|^(?:CC|CXX|CPP|LD|AR|AS|NM|STRIP|LDFLAGS|CFLAGS|CXXFLAGS|CPPFLAGS|CPATH|LIBRARY_PATH|COMPILER_PATH|GCC_EXEC_PREFIX|PKG_CONFIG.*|CMAKE_.*|CTEST_.*|MAKE|MAKEFLAGS|MFLAGS|MAKEFILES|MAKEOVERRIDES|CONFIG_SHELL|CONFIG_SITE|LIBTOOL|INSTALL|TCLLIBPATH)$/,
    why: 'decides what builds and package managers run',
    match: ['npm_config_script_shell', 'NPM_CONFIG_PREFIX', 'RUSTC_WRAPPER', 'GOFLAGS', 'MAKEFLAGS', 'CC'],
    notMatch: ['CCC', 'GO', 'MAKER'],
  },
  {
    pattern:
      /^(?:XDG_[A-Z_]+|DOCKER_[A-Z_]+|KUBE[A-Z_]*|HELM_[A-Z_]+|AWS_[A-Z_]+|AZURE_[A-Z_]+|GOOGLE_[A-Z_]+|CLOUDSDK_[A-Z_]+|TF_[A-Z_]+|ANSIBLE_[A-Z_]+|VAULT_[A-Z_]+|PG[A-Z]+|PSQL[A-Z_]*|MYSQL_[A-Z_]+|SQLITE[A-Z_]*|REDISCLI[A-Z_]*|http_proxy|https_proxy|HTTPS?_PROXY|all_proxy|ALL_PROXY|ftp_proxy|FTP_PROXY|no_proxy|NO_PROXY|SSL_CERT_(?:FILE|DIR)|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|SYSTEMD_[A-Z_]+|DBUS_[A-Z_]+|DISPLAY|WAYLAND_DISPLAY)$/,
    why: 'points programs to other settings, servers or sockets',
    match: ['XDG_CONFIG_HOME', 'DOCKER_HOST', 'KUBECONFIG', 'PGSSLCERT', 'https_proxy'],
    notMatch: ['XDG', 'PG', 'MY_AWS'],
  },
];

/** Set by ordinary commands all the time, although a pattern above meets them. */
export const HARMLESS_VARIABLES = setOf(`
  NODE_ENV PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS PYTHONIOENCODING PYTHONUTF8 NPM_CONFIG_LOGLEVEL NPM_CONFIG_YES
  GOOS GOARCH RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR OPTIND
`);

export function dangerOf(name: string): string | undefined {
  if (HARMLESS_VARIABLES.has(name)) return undefined;
  return DANGEROUS_VARIABLES.find(({ pattern }) => pattern.test(name))?.why;
}
