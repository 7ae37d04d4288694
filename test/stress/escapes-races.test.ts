import { describeRaces } from '../e2e/escapes/races.ts';

describeRaces('ordinary user');
