// What a server wants of Bun that Bun reads from the environment when it starts: the process replaces itself once, with
// the same id. It must never override what the operator has set.

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { isCompiled } from '../program'

/** Requests by Bun's fetch at a time, such as webhooks; with its own 256 the next one would wait in silence. */
const CONNECTIONS = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' }
/**
 * A fifth of JavaScriptCore's own: what every request runs through is compiled for good that much sooner. Only for an
 * executable, which has the Bun that it was tested with: another one may not know this name, and would not start.
 */
const EARLY_COMPILATION = { BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '20000' }
const C_LIBRARIES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'],
  darwin: ['libSystem.B.dylib'],
}

/** Returns when the settings hold; on Windows, where a process cannot replace itself, a child takes its place. */
export async function startWithSettings(): Promise<void> {
  const settings = { ...CONNECTIONS, ...(isCompiled() && EARLY_COMPILATION) }
  const missing = Object.entries(settings).filter(([name]) => !process.env[name])
  if (missing.length === 0) return
  // In an executable argv[1] is a path inside it, which must not be passed on.
  const command = [process.execPath, ...process.argv.slice(isCompiled() ? 2 : 1)]
  for (const library of C_LIBRARIES[process.platform] ?? []) {
    if (replaceProcess(library, command, missing)) return
  }
  const child = Bun.spawn(command, {
    env: { ...process.env, ...Object.fromEntries(missing) },
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  process.exit(await child.exited)
}

/** Does not return on success. False when the C library is not there. */
function replaceProcess(library: string, command: string[], settings: [string, string][]): boolean {
  try {
    const { symbols } = dlopen(library, {
      setenv: { args: [FFIType.cstring, FFIType.cstring, FFIType.i32], returns: FFIType.i32 },
      execv: { args: [FFIType.cstring, FFIType.ptr], returns: FFIType.i32 },
    })
    const texts = command.map(cText)
    const list = new BigUint64Array([...texts.map((text) => BigInt(ptr(text))), 0n])
    for (const [name, value] of settings) symbols.setenv(cText(name), cText(value), 1)
    symbols.execv(cText(process.execPath), ptr(list))
    return false
  } catch {
    return false
  }
}

function cText(text: string): Buffer {
  return Buffer.from(`${text}\0`)
}
