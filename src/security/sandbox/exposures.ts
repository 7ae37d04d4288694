/** What `expose` names: paths in the home directory, and variables with a socket's path. */
export interface Exposure {
  readonly home?: readonly string[];
  /** Sockets, which must stay connectable. */
  readonly sockets?: readonly string[];
  readonly socketVariables?: readonly string[];
}

export const EXPOSURES: Readonly<Record<string, Exposure>> = {
  gh: { home: ['.config/gh', '.config/hub'] },
  glab: { home: ['.config/glab-cli'] },
  git: { home: ['.git-credentials', '.config/git/credentials', '.netrc'] },
  'ssh-agent': { socketVariables: ['SSH_AUTH_SOCK'], home: ['.ssh/known_hosts', '.ssh/config'] },
  ssh: { home: ['.ssh'], socketVariables: ['SSH_AUTH_SOCK'] },
  gpg: { home: ['.gnupg'] },
  docker: {
    home: ['.docker'],
    sockets: ['/run/docker.sock', '/var/run/docker.sock'],
    socketVariables: ['DOCKER_HOST'],
  },
  podman: { sockets: ['/run/podman/podman.sock'], home: ['.config/containers'] },
  aws: { home: ['.aws'] },
  gcloud: { home: ['.config/gcloud'] },
  azure: { home: ['.azure'] },
  kubectl: { home: ['.kube'] },
  npm: { home: ['.npmrc'] },
  pip: { home: ['.pypirc', '.config/pip', '.pip'] },
  cargo: { home: ['.cargo/credentials', '.cargo/credentials.toml'] },
  maven: { home: ['.m2/settings.xml', '.m2/settings-security.xml'] },
  gradle: { home: ['.gradle/gradle.properties'] },
};
