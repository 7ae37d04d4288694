/** The same as escapes.test.ts, with a server that runs as root. */
import { describeEscapes } from './escapes/describe.ts';

describeEscapes('root');
