import type { Call } from '@svc/frames';
import { expect, test } from 'vitest';
import { createTickets } from './tickets.ts';

const call = (tenant = 'a'): Call => ({ tenant, requestId: 'r', signal: new AbortController().signal });
const REFUSED = 'The ticket was not issued to you by this server, or has expired.';

test('a ticket opens to its content, and does not reveal it', () => {
  const tickets = createTickets();
  const { ticket } = tickets.issue(call(), Buffer.from('SELECT secret'));
  expect(Buffer.from(ticket).includes('secret')).toBe(false);
  expect(Buffer.from(tickets.open(call(), ticket)).toString()).toBe('SELECT secret');
});

test('a ticket is invalid for another tenant, on another server, or after it expires', () => {
  let now = 1000;
  const tickets = createTickets({ lifeMs: 500, now: () => now });
  const { ticket, expires } = tickets.issue(call(), Buffer.from('x'));
  expect(expires).toEqual(new Date(1500));
  expect(() => tickets.open(call('b'), ticket)).toThrow(REFUSED);
  expect(() => createTickets().open(call(), ticket)).toThrow(REFUSED);
  now = 1500;
  expect(Buffer.from(tickets.open(call(), ticket)).toString()).toBe('x');
  now = 1501;
  expect(() => tickets.open(call(), ticket)).toThrow(REFUSED);
});

test('a ticket with any byte changed, cut or added is refused', () => {
  const tickets = createTickets();
  const { ticket } = tickets.issue(call(), Buffer.from('content'));
  for (let i = 0; i < ticket.length; i++) {
    const changed = Buffer.from(ticket);
    changed[i] = (changed[i] ?? 0) ^ 0x10;
    expect(() => tickets.open(call(), changed)).toThrow(REFUSED);
    expect(() => tickets.open(call(), ticket.subarray(0, i))).toThrow(REFUSED);
  }
  expect(() => tickets.open(call(), Buffer.concat([ticket, Buffer.from('x')]))).toThrow(REFUSED);
});
