import type { Handle } from '@svc/frames';
import type { PartSize } from '../../files/frame-files.ts';
import { schemaText } from '../../types/stored-types.ts';
import { frameOf, type Tenant } from './catalogue-entries.ts';
import type { SizedPart } from './manifest.ts';
import type { AddedPart } from './publish-manifest.ts';
import { type FrameContents, pathsOf, type StoredFrame } from './stored-frame.ts';

/** A version to publish. */
export interface NextVersion {
  readonly version: string;
  /** In order. */
  readonly parts: readonly NextPart[];
  readonly contents: FrameContents;
  readonly expires: Date | null;
  /** Whether it is a manifest although it has one new part: its schema may differ from that in the file. */
  readonly isManifest?: boolean;
  /** Whether the version has the same rows as the one it replaces. */
  readonly isSame?: true;
  /** Called when the version is the current one, before anything else can see it. */
  readonly onCurrent?: (() => void) | undefined;
}

/** A part that is published already, or a flushed file that is not. */
export type NextPart = SizedPart | StagedPart;

/** A flushed file that becomes a part. */
export interface StagedPart {
  readonly unfinishedPath: string;
  /** The version that adds it. */
  readonly version: string;
  readonly size: PartSize;
}

/** Makes the files of a version durable: one file, or the new parts and a manifest. */
export async function publishParts(tenant: Tenant, handle: Handle, next: NextVersion): Promise<StoredFrame> {
  const { frame, publish } = plan(tenant, handle, next);
  await publish();
  return frame;
}

/** Makes the files of a version durable, and drops the frame of another handle, both or neither. */
export async function moveParts(
  tenant: Tenant,
  from: StoredFrame,
  handle: Handle,
  next: NextVersion,
): Promise<StoredFrame> {
  const { folder } = tenant;
  const { frame, publish } = plan(tenant, handle, next);
  const unpublish = (): Promise<void> => folder.remove([folder.framePath(frame), ...pathsOf(frame)], [frame], []);
  await folder.move(from, { handle, version: next.version }, { publish, unpublish });
  return frame;
}

/** A version, and how its files are published. */
interface Plan {
  readonly frame: StoredFrame;
  readonly publish: () => Promise<void>;
}

function plan(tenant: Tenant, handle: Handle, next: NextVersion): Plan {
  const { folder } = tenant;
  const { version, contents, expires } = next;
  const [first] = next.parts;
  const isManifest = next.isManifest === true || next.parts.length > 1 || first === undefined || 'path' in first;
  const name = { handle, version, isManifest };
  const added: AddedPart[] = [];
  const parts = next.parts.map((part): SizedPart => {
    if ('path' in part) return part;
    const { unfinishedPath, size } = part;
    const path = isManifest ? folder.partPath({ handle, version: part.version }) : folder.framePath(name);
    added.push({ unfinishedPath, path });
    return { path, size };
  });
  return {
    frame: { ...frameOf(tenant, name, parts), contents, fileBytes: contents.fileBytes },
    publish: () =>
      isManifest
        ? folder.publishManifest(added, { parts, schema: schemaText(contents.schema) }, name, expires)
        : folder.publish(added[0]?.unfinishedPath ?? '', name, expires),
  };
}
