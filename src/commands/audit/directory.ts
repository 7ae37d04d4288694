import { join } from 'node:path';
import type { CommandContext } from '../context.ts';

export const auditDirectory = ({ settings }: Pick<CommandContext, 'settings'>): string =>
  join(settings().stateDir, 'audit');
