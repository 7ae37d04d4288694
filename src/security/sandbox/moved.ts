/** Where things of a home directory lie that variables move: data, and the places that follow from it. */
import { isAbsolute, join } from 'node:path';

/** A variable, and the file or directory of a home directory that lies where it says, or below that. */
export const MOVED_BY: readonly (readonly [variable: string, place: string, below?: string])[] = [
  ['XDG_CONFIG_HOME', '.config'],
  ['XDG_DATA_HOME', '.local/share'],
  ['XDG_STATE_HOME', '.local/state'],
  ['XDG_CACHE_HOME', '.cache'],
  ['CARGO_HOME', '.cargo'],
  ['GRADLE_USER_HOME', '.gradle'],
  ['COMPOSER_HOME', '.composer'],
  ['POETRY_CONFIG_DIR', '.config/pypoetry'],
  ['UV_CREDENTIALS_DIR', '.local/share/uv/credentials'],
  ['BUNDLE_USER_HOME', '.bundle'],
  ['PUB_CACHE', '.pub-cache'],
  ['HEX_HOME', '.hex'],
  ['GNUPGHOME', '.gnupg'],
  ['PASSWORD_STORE_DIR', '.password-store'],
  ['OP_CONFIG_DIR', '.config/op'],
  ['BITWARDENCLI_APPDATA_DIR', '.config/Bitwarden CLI'],
  ['DOCKER_CONFIG', '.docker'],
  ['HELM_CONFIG_HOME', '.config/helm'],
  ['MINIKUBE_HOME', '.minikube'],
  ['AZURE_CONFIG_DIR', '.azure'],
  ['CLOUDSDK_CONFIG', '.config/gcloud'],
  ['GH_CONFIG_DIR', '.config/gh'],
  ['GLAB_CONFIG_DIR', '.config/glab-cli'],
  ['RCLONE_CONFIG_DIR', '.config/rclone'],
  ['PULUMI_HOME', '.pulumi'],
  ['SNOWFLAKE_HOME', '.snowflake'],
  ['KAGGLE_CONFIG_DIR', '.kaggle'],
  ['HF_HOME', '.cache/huggingface'],
  ['JUPYTER_CONFIG_DIR', '.jupyter'],
  ['JUPYTER_DATA_DIR', '.local/share/jupyter'],
  ['JUPYTER_RUNTIME_DIR', '.local/share/jupyter/runtime'],
  ['ANDROID_USER_HOME', '.android'],
  ['DOPPLER_CONFIG_DIR', '.doppler'],
  ['FLY_CONFIG_DIR', '.fly'],
  ['CLAUDE_CONFIG_DIR', '.claude'],
  ['CODEX_HOME', '.codex'],
  ['COPILOT_HOME', '.copilot'],
  ['CONTINUE_GLOBAL_DIR', '.continue'],
  ['NPM_CONFIG_USERCONFIG', '.npmrc'],
  ['npm_config_userconfig', '.npmrc'],
  ['NPM_CONFIG_GLOBALCONFIG', '.npmrc'],
  ['npm_config_globalconfig', '.npmrc'],
  ['PIP_CONFIG_FILE', '.config/pip/pip.conf'],
  ['GIT_CONFIG_GLOBAL', '.gitconfig'],
  ['BUNDLE_USER_CONFIG', '.bundle/config'],
  ['CONDARC', '.condarc'],
  ['WGETRC', '.wgetrc'],
  ['CURL_HOME', '.netrc', '.netrc'],
  ['CURL_HOME', '.curlrc', '.curlrc'],
  ['ZDOTDIR', '.zsh_history', '.zsh_history'],
  ['ZDOTDIR', '.zhistory', '.zhistory'],
  ['ZDOTDIR', '.histfile', '.histfile'],
  ['CURSOR_CONFIG_DIR', '.cursor'],
  ['GEMINI_CLI_HOME', '.gemini', '.gemini'],
  ['VSCODE_PORTABLE', '.config/Code', 'user-data'],
];

/** Everywhere that a file of a home directory may be: there, and where variables have it. */
export function placesOf(
  name: string,
  home: string,
  environment: Readonly<Record<string, string>>,
): string[] {
  const moved = MOVED_BY.flatMap(([variable, place, below = '']) => {
    const to = environment[variable] ?? '';
    const isMoved = isAbsolute(to) && (name === place || name.startsWith(`${place}/`));
    return isMoved ? [join(to, below, name.slice(place.length))] : [];
  });
  return [...new Set([join(home, name), ...moved])];
}
