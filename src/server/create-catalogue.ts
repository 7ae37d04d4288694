/** The catalogue as the code makes it; for the build, and for the test that says whether the two agree. */
import { ALL_TOOLS, METHODS, TOOLSETS } from '../tools/tools.ts';
import type { Catalogue } from './catalogue.ts';
import { createDefinitions } from './definitions.ts';

export function createCatalogue(): Catalogue {
  return {
    toolsets: TOOLSETS,
    definitions: createDefinitions(ALL_TOOLS),
    configured: ALL_TOOLS.filter(({ configured }) => configured !== undefined).map(({ name }) => name),
    methods: Object.fromEntries(METHODS.map(({ method, beside }) => [method.name, beside])),
  };
}
