import { describe, expect, test } from 'vitest';
import { createPolicy } from './policy.ts';

const CONTEXT = { directory: '/proj', home: '/home/me' };
const { judge } = createPolicy({
  mode: 'permissive',
  blockedCommands: [
    'npm publish',
    'git push',
    'cargo publish',
    'kubectl delete',
    'docker run',
    'helm uninstall',
    'aws s3 rm',
    'systemctl stop',
    'pip install',
    'touch',
  ],
});

describe('a blocked subcommand is met behind options', () => {
  test.each([
    'npm publish',
    'npm --access public publish',
    'npm --tag next publish',
    'npm --access=public publish',
    'npm --silent publish',
    'npm -s --otp 123 publish --dry-run',
    'npm --registry http://x --access public publish',
    'git push',
    'git -C sub push',
    'git -c a.b=c push',
    'git --git-dir x --no-pager push',
    'git -c alias.p=push p',
    'git -calias.p=push p',
    "git -c 'alias.p=push origin' p",
    "git -c 'alias.p=!git push' p",
    'cargo +nightly publish',
    'cargo --config a publish',
    'cargo --color always publish',
    'kubectl --request-timeout 5 delete pod x',
    'kubectl --as-group a -n b delete pod x',
    'docker --log-level debug run x',
    'docker -H tcp://x run y',
    'helm --registry-config x uninstall y',
    'aws --cli-read-timeout 5 s3 rm x',
    'systemctl --job-mode fail stop x',
    'pip --cert x install y',
  ])('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each([
    'npm run publish',
    'npm --silent run publish',
    'npm view publish',
    'git stash push',
    'git stash push -m wip',
    'git --no-pager stash push',
    'git -C sub stash push',
    'git --no-pager log push',
    'git -c user.name=push commit',
    'git log --author push',
    'git -c alias.p=pull p',
    'cargo +nightly build',
    'docker --debug ps run',
    'gh pr create --title push',
    'echo git push',
  ])('%s is another command', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
  });
});

describe('a word of the grammar that bash takes for a name hides nothing', () => {
  test.each([
    '>f ! touch M',
    '</dev/null ! touch M',
    '2>&1 ! touch M',
    '>f ! ! touch M',
    'x=1 ! touch M',
    '>f if touch M',
    '>f then touch M',
    '>f { touch M',
    '>f [[ touch M',
    '>f ! env touch M',
    '>f ! sh -c "touch M"',
    '! touch M',
    '! >f touch M',
    '! ! touch M',
  ])('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each(['>f ! ls', '! ls', 'x=1 ls touch', '>f echo ! touch'])('%s is harmless', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
  });
});

describe('the grammar of another shell hides nothing', () => {
  test.each([
    'zsh -c "=touch M"',
    'zsh -c "noglob touch M"',
    'zsh -c "repeat 1 touch M"',
    'zsh -c "() { git push }"',
    'zsh -c "echo =(touch M)"',
    "zsh <<< '=touch M'",
    "echo 'nocorrect touch M' | zsh",
    'env zsh -c "=touch M"',
    'fish -c "not touch M"',
    'fish -c "echo (touch M)"',
    'fish -C "not touch M" -c true',
    'fish --command="begin; git push origin; end"',
    "tcsh -c 'repeat 3 touch M'",
    "nu -c '^touch M'",
    "elvish -c 'e:touch M'",
    'pwsh -Command touch M',
  ])('%s', (command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'blocked' });
  });

  test.each([
    'zsh -c "ls -la; git status"',
    'fish -c "echo (git log)"',
    'zsh build.zsh all',
    'zsh --version',
  ])('%s is harmless', (command) => {
    expect(judge(command, CONTEXT).decision).toBe('allow');
  });
});
