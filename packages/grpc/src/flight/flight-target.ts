import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { flight } from '@svc/proto';
import { type Command, parseCommand } from '../flight-sql/command.ts';

/** The target of a descriptor: a frame, or a Flight SQL command. */
export type FlightTarget =
  { readonly kind: 'frame'; readonly handle: string } | { readonly kind: 'command'; readonly command: Command };

/** Parses a descriptor. */
export function flightTarget(descriptor: flight.FlightDescriptor | undefined): FlightTarget {
  const { PATH, CMD } = flight.FlightDescriptorDescriptorType;
  if (descriptor?.type === CMD) return { kind: 'command', command: parseCommand(descriptor.cmd) };
  if (descriptor?.type !== PATH) {
    throw new ServiceError('invalid_argument', 'The descriptor has neither a path nor a command.', { hint: PATH_HINT });
  }
  const [handle, ...more] = descriptor.path;
  if (handle === undefined || handle === '' || more.length > 0) {
    const path = descriptor.path.join('/');
    throw new ServiceError(
      'invalid_argument',
      `The path ${quoted(path)} of the descriptor does not have exactly one part.`,
      {
        hint: PATH_HINT,
      },
    );
  }
  return { kind: 'frame', handle };
}

const PATH_HINT = 'Use a path with one part, the handle of a frame.';
