// Asks the process that serves from a data directory, over its control channel.

import type { Reloaded } from '../../src/app/reload'
import type { Config } from '../../src/config/schema'
import { lineOf } from '../../src/lib/error-line'
import { CommandFailed } from '../lib/errors'
import { BY, controlSocketOf, type Restarted, type Status } from './control-channel'

const PATIENCE_MS = 30_000
/** Longer than a server waits for the one that it starts. */
const RESTART_PATIENCE_MS = 90_000
/** Codes of connections to a socket that does not exist, or whose process has ended. */
const NOBODY_LISTENS: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED'])

interface Answers {
  'GET /status': Status
  'GET /config': Config
  'GET /config/changes': Reloaded
  'POST /config/reload': Reloaded
  'POST /hand-over': { isLeft: true }
  'POST /restart': Restarted
}

/** The answer of the server; undefined if none serves from this data directory. */
export async function askServer<Question extends keyof Answers>(
  dataDir: string,
  question: Question,
  by?: string,
): Promise<Answers[Question] | undefined> {
  const [method = '', path] = question.split(' ')
  const signal = AbortSignal.timeout(question === 'POST /restart' ? RESTART_PATIENCE_MS : PATIENCE_MS)
  let response: Response
  try {
    response = await fetch(`http://gateway${path}`, {
      method,
      headers: by === undefined ? {} : { [BY]: by },
      signal,
      unix: controlSocketOf(dataDir),
      // A kept-alive connection would lead to a process that has been replaced since.
      keepalive: false,
    })
  } catch (error) {
    if (signal.aborted) throw new CommandFailed(`The gateway that serves from ${dataDir} does not answer.`)
    const { code = '' } = error as { code?: string }
    if (NOBODY_LISTENS.has(code)) return undefined
    if (code === 'EACCES') throw new CommandFailed(`Only the owner of the gateway in ${dataDir} may ask it.`)
    throw new CommandFailed(
      `The gateway in ${dataDir} closed the connection early: ${lineOf(error)}. Try again.`,
    )
  }
  if (!response.ok)
    throw new CommandFailed(`The gateway in ${dataDir} does not know ${path}: its version differs.`)
  try {
    return (await response.json()) as Answers[Question]
  } catch (error) {
    throw new CommandFailed(`The gateway in ${dataDir} closed the connection early: ${lineOf(error)}.`)
  }
}

/** The answer of the server. Fails if nothing answers. `by` is the actor of a change, for the audit trail. */
export async function needServer<Question extends keyof Answers>(
  dataDir: string,
  question: Question,
  by?: string,
): Promise<Answers[Question]> {
  const answer = await askServer(dataDir, question, by)
  if (answer === undefined) {
    throw new CommandFailed(
      `No gateway serves from ${dataDir}. Start one with \`gateway serve\`, or name its --data-dir.`,
    )
  }
  return answer
}
