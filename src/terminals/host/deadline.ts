/**
 * Ends a function that would never return, which nothing else in its thread can do. It throws then, and what it was
 * working on is in no defined state.
 */
import { createContext, Script } from 'node:vm';

export function withDeadline<Given>(run: (given: Given) => void, ms: number): (given: Given) => void {
  const context = createContext({ run: undefined });
  const script = new Script('run()');
  return (given) => {
    context['run'] = () => run(given);
    script.runInContext(context, { timeout: ms });
  };
}
