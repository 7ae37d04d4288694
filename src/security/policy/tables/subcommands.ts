/** Other names of subcommands, for comparing what was written with what a rule says. */
import { byName, list, setOf } from '../../list.ts';

const NPM_COMMANDS = setOf(`
  access adduser audit bugs cache ci completion config dedupe deprecate diff dist-tag docs doctor edit exec explain explore
  find-dupes fund get help help-search init install install-ci-test install-test link login logout ls org outdated owner pack
  ping pkg prefix profile prune publish query rebuild repo restart root run sbom search set shrinkwrap star stars start stop
  team test token undeprecate uninstall unpublish unstar update version view whoami
`);

const NPM_ALIASES = byName({
  'i in ins inst insta instal isnt isnta isntal isntall add': 'install',
  'ic clean-install install-clean isntall-clean': 'ci',
  it: 'install-test',
  'cit clean-install-test sit': 'install-ci-test',
  'un unlink remove rm r': 'uninstall',
  'up upgrade udpate': 'update',
  'run-script rum urn': 'run',
  't tst': 'test',
  x: 'exec',
  'create innit': 'init',
  'list ll la': 'ls',
  'info show v': 'view',
  'find s se': 'search',
  author: 'owner',
  home: 'docs',
  issues: 'bugs',
  rb: 'rebuild',
  ln: 'link',
  c: 'config',
  ddp: 'dedupe',
  why: 'explain',
  verison: 'version',
  hlep: 'help',
  'dist-tags': 'dist-tag',
  ogr: 'org',
  'add-user': 'adduser',
});

const NPM_NAMES = [...NPM_COMMANDS, ...Object.keys(NPM_ALIASES)];

/** What npm may take the word for: a command, another name of one, or else the beginning of either. */
function npmCommands(word: string): readonly string[] {
  const name = word.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (NPM_COMMANDS.has(name)) return [name];
  const nameOf = (each: string): string =>
    (Object.hasOwn(NPM_ALIASES, each) ? NPM_ALIASES[each] : each) ?? each;
  if (nameOf(name) !== name) return [nameOf(name)];
  return NPM_NAMES.filter((each) => each.startsWith(name)).map(nameOf);
}

/** Whether a subcommand that was written is, or may be, the one that a rule names. */
export function isSubcommand(program: string, wanted: string, word: string): boolean {
  if (wanted === word) return true;
  return program === 'npm' && npmCommands(wanted).some((name) => npmCommands(word).includes(name));
}

/** `docker container run` is `docker run`; of these two words the second has another name there. */
const DOCKER_GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  container: byName({ 'ls list': 'ps', remove: 'rm' }),
  image: byName({ 'ls list': 'images', 'rm remove': 'rmi' }),
  builder: {},
  buildx: {},
};

/** The operands without the group that the first of them names. */
export function withoutGroup(program: string, operands: readonly string[]): readonly string[] {
  const [group = '', name = '', ...rest] = operands;
  if ((program !== 'docker' && program !== 'podman') || name === '') return operands;
  const names = Object.hasOwn(DOCKER_GROUPS, group) ? DOCKER_GROUPS[group] : undefined;
  return names === undefined ? operands : [names[name] ?? name, ...rest];
}

/** `pip3.12` is pip. */
export const plainProgram = (name: string): string => name.replace(/^pip[\d.]+$/, 'pip');

/** Programs that run the command in their arguments, and the subcommands with which they do; none: always. */
export const RUNNERS: Readonly<Record<string, readonly string[]>> = byName({
  'npx pnpx bunx uvx corepack': [],
  'npm bundle': ['exec'],
  'pnpm yarn': list('exec dlx'),
  bun: ['x'],
  'uv poetry pipx pdm hatch pipenv rye': ['run'],
});
