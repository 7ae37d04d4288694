import { expect, test } from 'vitest';
import { createPageLinks, type PageOpener, type PagePlace } from './page-links.ts';

const VIEW = { path: 's/secret_1', message: 'look' };

function create(address?: string) {
  const opened: string[] = [];
  const links = createPageLinks({ page: () => address, isAttended: () => false });
  const openerAt = (page: PagePlace): PageOpener => ({
    page,
    open: async ({ url }) => {
      opened.push(url);
      return { action: 'accept' };
    },
    complete: () => undefined,
  });
  return { links, opened, openerAt };
}

test('nobody is led to a page for another principal', () => {
  const { links, opened, openerAt } = create('http://127.0.0.1:1/');
  links.during('alice', openerAt('local'));
  expect(links.canLead('bob')).toBe(false);
  expect(links.lead('bob', VIEW)).toBeUndefined();
  expect(opened).toEqual([]);
});

test('of the calls of a principal, one leads there whose client can', () => {
  const { links, opened, openerAt } = create();
  links.during('alice', openerAt(new URL('http://localhost:2/ui/')));
  links.during('alice', openerAt('local'));
  expect(links.lead('alice', VIEW)).toBeDefined();
  expect(links.lead('alice', VIEW)).toBeUndefined();
  expect(opened).toEqual(['http://localhost:2/ui/#/s/secret_1']);
});

test('a call that has ended leads nobody', () => {
  const { links, openerAt } = create('http://127.0.0.1:1/');
  const leave = links.during('alice', openerAt('local'));
  expect(links.canLead('alice')).toBe(true);
  leave();
  expect(links.canLead('alice')).toBe(false);
});
