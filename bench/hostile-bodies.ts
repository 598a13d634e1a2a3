// Requests that are designed to be expensive to read: each is a body that a caller with any key can send. All must be invalid: each
// is refused and free.
import { gatewayModel, WHOLE } from './exchange'

export interface HostileBody {
  name: string
  make(): Buffer
}

const MEGABYTE = 1_000_000

export const hostileBodies: readonly HostileBody[] = [
  { name: '100,000 unknown keys, 1.1 MB', make: () => request(list(100_000, (index) => `"k${index}":1`)) },
  { name: '1,000,000 unknown keys, 12 MB', make: () => request(list(1_000_000, (index) => `"k${index}":1`)) },
  { name: 'one key 1,000,000 times, 10 MB', make: () => request(list(1_000_000, () => '"key":1')) },
  { name: '36 MB of []', make: () => messages(repeat('[],', 36 * MEGABYTE)) },
  { name: '30 MB of []', make: () => messages(repeat('[],', 30 * MEGABYTE)) },
  { name: '30 MB of numbers', make: () => messages(repeat('1,', 30 * MEGABYTE)) },
  {
    name: '15 MB of [ and as much of ]',
    make: () => messages(`${repeat('[', 15 * MEGABYTE)}${repeat(']', 15 * MEGABYTE)},`),
  },
  {
    name: '100,000 messages, 4 MB',
    make: () => messages(`${list(100_000, () => '{"role":"user","content":"x"}')},`),
  },
  {
    name: '30 MB of escapes in one string',
    make: () => request(`"text":"${repeat('\\u0000', 30 * MEGABYTE)}"`),
  },
  { name: '30 MB of white space', make: () => request(`"text":${repeat(' ', 30 * MEGABYTE)}1`) },
]

function request(rest: string): Buffer {
  return Buffer.from(`{"model":"${gatewayModel(WHOLE)}","messages":[{"role":"user"}],${rest}}`)
}

/** A body of messages; `entries` ends with a comma. */
function messages(entries: string): Buffer {
  return Buffer.from(`{"model":"${gatewayModel(WHOLE)}","messages":[${entries}1]}`)
}

function list(count: number, entry: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => entry(index)).join()
}

function repeat(text: string, bytes: number): string {
  return text.repeat(Math.floor(bytes / text.length))
}
