import { quoted, ServiceError } from '@svc/errors';
import { flight } from '@svc/proto';
import { type Command, parseCommand } from '../flight-sql/command.ts';

/** What a descriptor names: a frame, or a command of Flight SQL. */
export type FlightTarget =
  { readonly kind: 'frame'; readonly handle: string } | { readonly kind: 'command'; readonly command: Command };

/** Reads a descriptor. */
export function flightTarget(descriptor: flight.FlightDescriptor | undefined): FlightTarget {
  const { PATH, CMD } = flight.FlightDescriptorDescriptorType;
  if (descriptor?.type === CMD) return { kind: 'command', command: parseCommand(descriptor.cmd) };
  if (descriptor?.type !== PATH) {
    throw new ServiceError('invalid_argument', 'The descriptor has neither a path nor a command.', { hint: PATH_HINT });
  }
  const [handle, ...more] = descriptor.path;
  if (handle === undefined || handle === '' || more.length > 0) {
    const path = descriptor.path.join('/');
    throw new ServiceError('invalid_argument', `The path ${quoted(path)} of the descriptor has not one part.`, {
      hint: PATH_HINT,
    });
  }
  return { kind: 'frame', handle };
}

const PATH_HINT = 'Name a frame by a path of one part, its handle.';
