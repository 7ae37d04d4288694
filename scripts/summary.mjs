/** Adds up vitest's JSON reports and prints one line: `node scripts/summary.mjs <exit code> <report.json>…`. */
import { existsSync, readFileSync } from 'node:fs';

const [exitCode, ...paths] = process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
for (const path of paths.filter((name) => existsSync(name))) {
  const report = JSON.parse(readFileSync(path, 'utf8'));
  total.passed += report.numPassedTests;
  total.failed += report.numFailedTests;
  total.skipped += report.numPendingTests + report.numTodoTests;
  // A file that could not be loaded, or left something open, fails without a failed test.
  total.failed += report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  ).length;
}
// A step that failed without a test, such as the lint or the leak check, is a failure too.
if (exitCode !== '0' && total.failed === 0) total.failed = 1;
process.stdout.write(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
