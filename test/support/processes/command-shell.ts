// Runs command lines from the source one after another in one process: a comparison of many lines would otherwise spend its time on
// starts. Each line has its own output and exit code, as if it were a process. Run as a program, this file is that process.

import type { Ran } from './command-line'

/** Marks the end of a line's output. No command prints it. */
const END = '\0'

export interface CommandShell {
  /** Runs the arguments of `gateway`. */
  run(words: readonly string[]): Promise<Ran>
  end(): Promise<void>
}

export function openCommandShell(cwd: string, env: Record<string, string | undefined>): CommandShell {
  const child = Bun.spawn([process.execPath, import.meta.path], {
    cwd,
    env,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const stdout = partsOf(child.stdout)
  const stderr = partsOf(child.stderr)
  return {
    async run(words) {
      child.stdin.write(`${JSON.stringify(words)}\n`)
      child.stdin.flush()
      const [out, err] = await Promise.all([stdout.next(), stderr.next()])
      const code = await stdout.next()
      return { code: Number(code.value), stdout: out.value, stderr: err.value }
    },
    async end() {
      child.stdin.end()
      await child.exited
    },
  }
}

async function* partsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, never> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of stream) {
    const parts = (text + decoder.decode(piece, { stream: true })).split(`${END}\n`)
    text = parts.pop() ?? ''
    yield* parts
  }
  throw new Error(`the process of the commands has ended: ${text}`)
}

async function serveLines(): Promise<never> {
  let count = 0
  for await (const line of console) {
    process.argv = [process.execPath, 'gateway', ...JSON.parse(line)]
    process.exitCode = 0
    // The main file runs once for each address; its imports stay loaded.
    await import(`../../../cli/main.ts?line=${count++}`)
    console.error(END)
    console.log(`${END}\n${process.exitCode}${END}`)
  }
  process.exit(0)
}

if (import.meta.main) await serveLines()
