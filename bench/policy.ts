/** `npm run bench policy`: what a decision costs, for commands as agents send them and for long ones. */
import { createPolicy, type JudgeContext, type PolicyConfig } from '../src/security/policy/policy.ts';
import { percentile, say } from './support.ts';

const ROUNDS = 2000;

const CONTEXT: JudgeContext = { directory: '/proj', home: '/home/me' };

const POLICIES: Readonly<Record<string, PolicyConfig>> = {
  permissive: { mode: 'permissive', blockedCommands: ['rm -rf', 'git push', 'curl | sh', '/^npm publish/'] },
  restrictive: { mode: 'restrictive', allowedDirectories: ['/proj'] },
};

const COMMANDS: readonly string[] = [
  'ls -la',
  'git status && git diff --stat HEAD~1',
  'npm test 2>&1 | tail -n 50',
  "grep -rn 'foo' src --include='*.ts' | head -20",
  'cd packages/core && npm run build && npm test',
  'for f in $(git ls-files "*.ts"); do wc -l "$f"; done | sort -n',
  'find . -name "*.log" -mtime +7 -exec rm {} \\;',
  'if [ -f package.json ]; then npm ci --silent; else echo "no package.json"; fi',
];

const LONG = `cat > file.js <<'EOF'\n${'function f() { return { a: `${b}` }; }\n'.repeat(2600)}EOF\n`;

for (const [name, config] of Object.entries(POLICIES)) {
  const { judge } = createPolicy(config);
  const time = (command: string, rounds: number): number[] =>
    Array.from({ length: rounds }, () => {
      const began = performance.now();
      judge(command, CONTEXT);
      return performance.now() - began;
    });
  for (const command of COMMANDS) time(command, 200);
  const times = COMMANDS.flatMap((command) => time(command, ROUNDS / COMMANDS.length));
  const long = time(LONG, 20);
  say(
    `${name}: p50 ${(percentile(times, 0.5) * 1000).toFixed(0)} µs, p99 ${(percentile(times, 0.99) * 1000).toFixed(0)} µs; a here-document of 100 KiB p50 ${percentile(long, 0.5).toFixed(1)} ms`,
  );
}
