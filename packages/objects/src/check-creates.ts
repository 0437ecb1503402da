import { randomBytes } from 'node:crypto';
import { ServiceError } from '@svc/errors';
import { type Objects, OutcomeUnknown } from './objects.ts';

const ROUNDS = 3;
const CREATORS = 20;

/** Fails if a home lets a name be created twice, also in a race: servers that share it would lose frames. */
export async function checkCreates(objects: Objects, signal?: AbortSignal): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const key = `.probe/${randomBytes(12).toString('hex')}`;
    try {
      const outcomes = await Promise.all(Array.from({ length: CREATORS }, () => outcomeOf(objects, key, signal)));
      outcomes.push(await outcomeOf(objects, key, signal));
      const created = outcomes.filter((outcome) => outcome === true).length;
      if (created > 1 || (created === 0 && !outcomes.includes(undefined))) throw withoutCondition();
    } finally {
      await objects.remove([key]);
    }
  }
}

/** Undefined: no answer came. That may have been the one that created the name. */
async function outcomeOf(objects: Objects, key: string, signal?: AbortSignal): Promise<boolean | undefined> {
  try {
    return await objects.create(key, Buffer.from('probe'), signal);
  } catch (error) {
    if (error instanceof OutcomeUnknown) return undefined;
    throw error;
  }
}

function withoutCondition(): ServiceError {
  return new ServiceError('internal', 'The bucket does not keep the condition If-None-Match of a PUT.', {
    hint: 'Use a bucket that does, such as one of versitygw: servers that share this one would lose frames.',
  });
}
