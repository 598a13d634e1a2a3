// An error in one line, for operators: in the output of a command, or as the reason of a failed attempt. It must never reach a
// caller, because it may name files and addresses.

/** The first line of an error's message, without a full stop. */
export function lineOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return (message.trim().split('\n')[0] ?? '').replace(/\.$/, '')
}
