import type { TenantFolder } from './catalogue/tenant-folder.ts';
import {
  type AddedFile,
  type AddedRows,
  contextOf,
  type FewRows,
  type StagingContext,
  streamOf,
} from './conform-rows.ts';
import { stageRows, type Staging } from './stage-rows.ts';
import { schemaText } from '../types/schema-text.ts';

/** An append that waits to be written. */
interface StagedAppend {
  readonly options: StagingContext;
  readonly reject: (error: unknown) => void;
}

/** An append whose conditions hold. */
export interface AcceptedAppend<Append> {
  readonly append: Append;
  readonly added: AddedRows;
  readonly version: string;
}

/** A file with the rows of some appends. */
export interface AppendedFile<Append> {
  readonly file: AddedFile;
  readonly appends: readonly AcceptedAppend<Append>[];
}

/** Writes the rows of appends to files, in order: adjacent ones in memory with the same schema to one file. */
export async function stageTogether<Append extends StagedAppend>(
  staging: Staging,
  folder: TenantFolder,
  accepted: readonly AcceptedAppend<Append>[],
): Promise<readonly AppendedFile<Append>[]> {
  const staged: AppendedFile<Append>[] = [];
  for (const group of groupsOf(accepted)) {
    try {
      staged.push({ file: await stageGroup(staging, folder, group), appends: group });
    } catch (error) {
      if (group.length === 1) group[0]?.append.reject(error);
      // One append may have a value that cannot be stored: write each alone.
      else for (const one of group) staged.push(...(await stageTogether(staging, folder, [one])));
    }
  }
  return staged;
}

function groupsOf<Append>(accepted: readonly AcceptedAppend<Append>[]): AcceptedAppend<Append>[][] {
  const groups: AcceptedAppend<Append>[][] = [];
  let last: AddedRows | undefined;
  for (const one of accepted) {
    if (last !== undefined && canShareFile(last, one.added)) groups.at(-1)?.push(one);
    else groups.push([one]);
    last = one.added;
  }
  return groups;
}

function canShareFile(a: AddedRows, b: AddedRows): boolean {
  if (a.kind !== 'few' || b.kind !== 'few') return false;
  return a.schema === b.schema || schemaText(a.schema) === schemaText(b.schema);
}

async function stageGroup<Append extends StagedAppend>(
  staging: Staging,
  folder: TenantFolder,
  group: readonly AcceptedAppend<Append>[],
): Promise<AddedFile> {
  const few: FewRows[] = [];
  for (const { added } of group) {
    if (added.kind === 'file') return added;
    few.push(added);
  }
  const [first] = few;
  const [{ append } = {}, ...others] = group;
  if (first === undefined || append === undefined) throw new Error('There are no rows to write.');
  const { signal, ...context } = contextOf(append.options);
  // A client that leaves must not cancel the appends of others.
  const options = others.length === 0 && signal ? { ...context, signal } : context;
  return { kind: 'file', ...(await stageRows(staging, folder, streamOf(few, first.schema), options)) };
}
