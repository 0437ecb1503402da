import type { Hono } from 'hono';
import { addEndpoint, type EndpointOptions, type HandlersOf, type MethodOperations } from '../endpoint.ts';
import type { ExecEnv } from '../request-context.ts';
import type { EndpointRow, EndpointTable, Method } from './endpoint-table.ts';

/** The handlers of every path and method of a table. */
export type EndpointHandlers<Table extends EndpointTable> = {
  readonly [Path in keyof Table]: HandlersOf<Extract<keyof Table[Path]['methods'], Method>>;
};

/** Adds every path of a table to the app, with the methods, access and parameters that its row says. */
export function addEndpoints<Table extends EndpointTable>(
  app: Hono<ExecEnv>,
  table: Table,
  options: EndpointOptions,
  handlers: EndpointHandlers<Table>,
): void {
  for (const [path, row] of Object.entries(table)) {
    addEndpoint(app, path, { ...options, ...optionsOf(row) }, handlers[path as keyof Table]);
  }
}

/** Returns the options that a row decides. */
function optionsOf(row: EndpointRow): Partial<EndpointOptions> {
  const { access = 'closed', actsOnGet = false, methods } = row;
  const operations: Record<string, MethodOperations[string]> = {};
  const writeParams: Record<string, readonly string[]> = {};
  for (const [method, { operation, params = {}, refusesOthers = false }] of Object.entries(methods)) {
    if (operation !== undefined) operations[method] = operation;
    if (operation !== undefined && method === 'GET') operations['HEAD'] = operation;
    if (refusesOthers) writeParams[method] = Object.keys(params);
  }
  return { access, actsOnGet, operations, writeParams };
}
