const HIDDEN_SOCKETS =
  'The sandbox hides the sockets of the host’s services. The operator can expose one by its path in security.expose.';

/** Programs that need something of the host which is not let through, and how they say so. */
export const HOST_PROGRAMS: readonly {
  readonly says: RegExp;
  /** Of programs that may have said it: one of them is in the command. */
  readonly names?: RegExp;
  readonly sentence: string;
  readonly exposes?: string;
}[] = [
  {
    says: /sudo: (?:.*no new privileges|effective uid is not 0|.*must be owned by uid 0|unable to|.*setuid)|\bsu: |pkexec must be setuid|doas: not installed setuid|sudo: command not found/im,
    sentence:
      'sudo and su do not work in the sandbox: commands cannot gain privileges there. Ask the user to run it.',
  },
  {
    says: /docker daemon|docker\.sock|Cannot connect to the Docker|DockerException|podman\.sock|unable to connect to Podman/i,
    exposes: 'docker',
    sentence:
      'The sandbox hides the sockets of container engines: they grant root-equivalent control of the host.',
  },
  {
    says: /gh auth login|GH_TOKEN|GitHub CLI/i,
    exposes: 'gh',
    names: /\bgh\b/,
    sentence: 'The sandbox hides the credentials of gh.',
  },
  {
    says: /Permission denied \(publickey|Could not open a connection to your authentication agent|Host key verification failed|no such identity/i,
    exposes: 'ssh-agent',
    sentence: 'The sandbox hides ~/.ssh and the agent.',
  },
  {
    says: /could not read (?:Username|Password) for|Authentication failed for 'https?:|terminal prompts disabled/i,
    exposes: 'git',
    names: /git/,
    sentence: 'The sandbox hides the credentials of git.',
  },
  {
    says: /Unable to locate credentials|aws configure|NoCredentialProviders/i,
    exposes: 'aws',
    names: /\baws\b|terraform|sam|cdk/,
    sentence: 'The sandbox hides the credentials of AWS.',
  },
  {
    says: /gcloud auth login|Application Default Credentials/i,
    exposes: 'gcloud',
    names: /gcloud|gsutil|bq|terraform/,
    sentence: 'The sandbox hides the credentials of gcloud.',
  },
  {
    says: /connection to the server localhost:8080 was refused|kubeconfig/i,
    exposes: 'kubectl',
    names: /kubectl|helm|k9s|kustomize/,
    sentence: 'The sandbox hides ~/.kube.',
  },
  {
    says: /ENEEDAUTH|npm login|E401.*registry|code E401/i,
    exposes: 'npm',
    names: /npm|npx|yarn|pnpm/,
    sentence: 'The sandbox shows .npmrc without its tokens.',
  },
  {
    says: /gpg: (?:signing failed|.*No secret key|can't connect to the agent)|error: gpg failed to sign/i,
    exposes: 'gpg',
    names: /git|gpg/,
    sentence: 'The sandbox hides ~/.gnupg.',
  },
  {
    says: /Error connecting to agent/i,
    exposes: 'ssh-agent',
    sentence: 'The sandbox hides the agent of ssh.',
  },
  {
    says: /\/var\/lib\/(?:dpkg|apt)\b|\/var\/cache\/apt|dpkg: error|\/var\/lib\/rpm|are you root\?/i,
    sentence: 'System packages cannot be installed from inside the sandbox. Ask the user to install them.',
  },
  {
    says: /(?:chown|ownership)\b.*Invalid argument/i,
    sentence: 'The sandbox has only one user, so a file cannot be given to another one.',
  },
  {
    says: /(?:No usable sandbox|SUID sandbox helper|Failed to move to new namespace|unshare: unshare failed|newuidmap)/i,
    sentence:
      'Namespaces cannot be nested in the sandbox: browsers need --no-sandbox, and rootless containers do not run.',
  },
  {
    says: /(?:\/var)?\/run\/[\w./-]*(?:\.sock|\.s\.PGSQL|_socket|bus)\b|Failed to connect to (?:\w+ )*bus\b/i,
    sentence: HIDDEN_SOCKETS,
  },
  {
    says: /^curl: \(7\)/im,
    names: /--unix-socket[ =]["']?(?:\/var)?\/run\//,
    sentence: HIDDEN_SOCKETS,
  },
];
