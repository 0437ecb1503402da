import { lstatSync } from 'node:fs';
import { link } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { hasCode, unlinkIfThere } from '@svc/objects/internal';
import type { LaterDirectory } from '../../disk/private-directory.ts';
import type { FramePart } from '../../files/frame-files.ts';
import { partsOf, type StoredFrame } from './stored-frame.ts';
import { forEachConcurrently, type TenantFolder } from './tenant-folder.ts';

/** The pin of one version. */
interface Pin {
  /** False: a part is missing. */
  readonly made: Promise<boolean>;
  /** True if the version was replaced or dropped. */
  isRetired: boolean;
  /** When the last reader has left. */
  idleSince: number;
}

/** A frame that is read again and again keeps its pins. */
const IDLE_MS = 10_000;

/** A second name of a part. Versions share parts. */
interface SecondName {
  users: number;
  /** The last step: to make the name, or to remove it. */
  last: Promise<void>;
}

/**
 * Keeps the parts of the versions that are read: gives them second names in the folder of this process. A change that
 * replaces a version, in this process or another, removes only the first ones.
 */
export class Pins {
  readonly #own: LaterDirectory;
  readonly #folderOf: (tenant: string) => TenantFolder;
  readonly #now: () => number;
  readonly #pins = new Map<StoredFrame, Pin>();
  /** By path. */
  readonly #files = new Map<string, SecondName>();
  /** The versions with readers that use the first names. */
  readonly #inPlace = new Set<StoredFrame>();
  /** What is to be done when a version without a pin has no readers any more. */
  readonly #waiting = new Map<StoredFrame, () => void>();
  #losses = 0;

  constructor(own: LaterDirectory, folderOf: (tenant: string) => TenantFolder, now: () => number) {
    this.#own = own;
    this.#folderOf = folderOf;
    this.#now = now;
  }

  /** Pins a version for a reader. False: a part is missing, so it may have been replaced. */
  async add(frame: StoredFrame): Promise<boolean> {
    if (this.#own.losses !== this.#losses) this.#forgetAll();
    if (frame.pinned !== undefined || partsOf(frame).length === 0) return true;
    let pin = this.#pins.get(frame);
    if (pin === undefined) {
      pin = { made: this.#make(frame), isRetired: false, idleSince: Infinity };
      this.#pins.set(frame, pin);
    }
    return pin.made;
  }

  /** A reader is done with a version. */
  released(frame: StoredFrame): void {
    if (frame.readers > 0) return;
    const pin = this.#pins.get(frame);
    if (pin?.isRetired === true) void this.#remove(frame);
    else if (pin) pin.idleSince = this.#now();
    this.#inPlace.delete(frame);
    this.#waiting.get(frame)?.();
    this.#waiting.delete(frame);
  }

  /** A version has no further readers than those that it has now. If a successor has some of its parts, they stay for a while. */
  retire(frame: StoredFrame, successor?: StoredFrame): void {
    const pin = this.#pins.get(frame);
    const [first] = partsOf(frame);
    const isExtended = successor !== undefined && partsOf(successor)[0]?.path === first?.path;
    if (pin === undefined || isExtended) return;
    pin.isRetired = true;
    this.released(frame);
  }

  /** Does something at once, or when the last reader of the first names of the parts has left. */
  whenFree(frame: StoredFrame, work: () => void): void {
    if (frame.readers === 0 || (frame.pinned !== undefined && !this.#inPlace.has(frame))) work();
    else this.#waiting.set(frame, work);
  }

  /** The versions that have readers, among them all that were replaced or dropped. */
  inUse(): readonly StoredFrame[] {
    return [...this.#pins.keys(), ...this.#waiting.keys()].filter(({ readers }) => readers > 0);
  }

  /** Removes the pins of versions without readers for a while. */
  async sweep(): Promise<void> {
    const before = this.#now() - IDLE_MS;
    const isIdle = (frame: StoredFrame): boolean =>
      frame.readers === 0 && (this.#pins.get(frame)?.idleSince ?? Infinity) <= before;
    const idle = [...this.#pins.keys()].filter(isIdle);
    await forEachConcurrently(idle, async (frame) => {
      if (isIdle(frame)) await this.#remove(frame);
    });
  }

  async #remove(frame: StoredFrame): Promise<void> {
    const { pinned } = frame;
    if (pinned === undefined) return;
    this.#pins.delete(frame);
    frame.pinned = undefined;
    await Promise.all(pinned.map(({ path }) => this.#release(path)));
  }

  /** Someone has removed the folder. */
  #forgetAll(): void {
    this.#losses = this.#own.losses;
    for (const frame of this.#pins.keys()) frame.pinned = undefined;
    this.#pins.clear();
    this.#files.clear();
  }

  async #make(frame: StoredFrame): Promise<boolean> {
    const folder = this.#folderOf(frame.tenant);
    const names: { readonly home: string; readonly part: FramePart }[] = [];
    for (const { path: home, size } of partsOf(frame)) {
      names.push({ home, part: { path: join(folder.path, basename(home)), size } });
    }
    const taken: string[] = [];
    try {
      await folder.prepare();
      await forEachConcurrently(names, ({ home, part: { path } }) => {
        taken.push(path);
        return this.#take(home, path);
      });
      // Unless the folder was removed meanwhile.
      if (this.#pins.has(frame)) frame.pinned = names.map(({ part }) => part);
      else this.#inPlace.add(frame);
      return true;
    } catch (error) {
      for (const path of taken) void this.#release(path);
      this.#pins.delete(frame);
      this.#inPlace.add(frame);
      // On a full disk, for example, the parts are read where they are.
      return !hasCode(error, 'ENOENT');
    }
  }

  #take(home: string, path: string): Promise<void> {
    const file = this.#files.get(path) ?? { users: 0, last: Promise.resolve() };
    this.#files.set(path, file);
    file.users += 1;
    if (file.users === 1) file.last = file.last.then(() => linkUnlessThere(home, path));
    return file.last;
  }

  async #release(path: string): Promise<void> {
    const file = this.#files.get(path);
    if (file === undefined) return;
    file.users -= 1;
    if (file.users > 0) return;
    const removed = file.last.catch(() => {}).then(() => unlinkIfThere(path));
    // A file that cannot be removed goes with the folder.
    file.last = removed
      .catch(() => {})
      .then(() => {
        if (file.users === 0) this.#files.delete(path);
      });
    await file.last;
  }
}

/** Parts have unique names: what is there is the same part. */
async function linkUnlessThere(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (!hasCode(error, 'EEXIST')) throw error;
  });
  // It may lead nowhere from here. Synchronous: the system has just looked at it.
  if (lstatSync(to).isSymbolicLink()) throw new Error('The part is a symbolic link.');
}
