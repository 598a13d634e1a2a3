// Lifts Bun's limit of 256 requests to upstreams at a time, which would make the 257th caller wait in silence.
// Bun reads the limit from the environment when it starts, so the process replaces itself once, with the same id.

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { isCompiled } from './program'

const VARIABLE = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
const LIMIT = '65535'
const C_LIBRARIES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'],
  darwin: ['libSystem.B.dylib'],
}

/** Returns when the limit is lifted; on Windows, where a process cannot replace itself, a child takes its place. */
export async function liftConnectionLimit(): Promise<void> {
  if (process.env[VARIABLE]) return
  // In an executable argv[1] is a path inside it, which must not be passed on.
  const command = [process.execPath, ...process.argv.slice(isCompiled() ? 2 : 1)]
  for (const library of C_LIBRARIES[process.platform] ?? []) {
    if (replaceProcess(library, command)) return
  }
  const child = Bun.spawn(command, {
    env: { ...process.env, [VARIABLE]: LIMIT },
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  process.exit(await child.exited)
}

/** Does not return on success. False when the C library is not there. */
function replaceProcess(library: string, command: string[]): boolean {
  try {
    const { symbols } = dlopen(library, {
      setenv: { args: [FFIType.cstring, FFIType.cstring, FFIType.i32], returns: FFIType.i32 },
      execv: { args: [FFIType.cstring, FFIType.ptr], returns: FFIType.i32 },
    })
    const texts = command.map(cText)
    const list = new BigUint64Array([...texts.map((text) => BigInt(ptr(text))), 0n])
    symbols.setenv(cText(VARIABLE), cText(LIMIT), 1)
    symbols.execv(cText(process.execPath), ptr(list))
    return false
  } catch {
    return false
  }
}

function cText(text: string): Buffer {
  return Buffer.from(`${text}\0`)
}
