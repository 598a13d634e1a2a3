// Directives: words in brackets within a prompt, such as `[sandbox status=429 retry_after=2]`, that make a simulator
// misbehave on purpose. They must never fail: unknown words and bad values are ignored.

import { asArray, asObject, asObjects, asString } from './json'

export type UsageFault =
  | 'missing'
  | 'negative'
  | 'string'
  | 'huge'
  | 'overflow'
  | 'nan'
  | 'every_chunk'
  | 'late'

/** How a task ends. */
export type TaskEnd = 'succeeded' | 'failed' | 'canceled' | 'expired' | 'blocked' | 'forgotten'

export interface Directives {
  status?: number
  retryAfterSeconds?: number
  errorText?: string
  errorCode?: string
  soft?: true
  quota?: true
  times?: number
  delayMs?: number
  hang?: true
  redirect?: string
  garbage?: true
  tokens?: number
  tokenDelayMs?: number
  reasoning?: number
  cached?: number
  written?: number
  promptTokens?: number
  usage?: UsageFault
  tool?: number
  images?: number
  blocked?: number
  empty?: true
  refusal?: true
  unknown?: true
  wide?: true
  cutAfter?: number
  errorAfter?: number
  noDone?: true
  noStream?: true
  crlf?: true
  split?: true
  shuffle?: true
  account?: string
  tier?: string
  searches?: number
  interleave?: true
  keepalive?: true
  rotateIds?: true
  emptyOutput?: true
  finish?: string
  block?: string
  task?: { durationMs?: number; end?: TaskEnd; pollStatus?: number }
}

interface Rule {
  /** The directive as written in the bracket, with a sample value. */
  name: string
  meaning: string
  read(value: string | undefined, into: Directives): void
}

const usageFaults: readonly string[] = [
  'missing',
  'negative',
  'string',
  'huge',
  'overflow',
  'nan',
  'every_chunk',
  'late',
]

const delayMsMax = 600_000
const tokensMax = 200_000
const countMax = 1_000_000_000
const imagesMax = 100

function number(max: number, set: (into: Directives, value: number) => void): Rule['read'] {
  return (value, into) => {
    if (value !== undefined && /^\d{1,9}$/.test(value)) set(into, Math.min(Number(value), max))
  }
}

function text(set: (into: Directives, value: string) => void): Rule['read'] {
  return (value, into) => {
    if (value !== undefined && value !== '') set(into, value)
  }
}

function flag(set: (into: Directives) => void): Rule['read'] {
  return (_value, into) => set(into)
}

const taskEnds: readonly string[] = ['succeeded', 'failed', 'canceled', 'expired', 'blocked', 'forgotten']

const rules: readonly Rule[] = [
  {
    name: 'status=429',
    meaning: 'answer with this error status (400 to 599) in the error shape of the vendor',
    read: number(999, (into, value) => {
      if (value >= 400 && value <= 599) into.status = value
    }),
  },
  {
    name: 'retry_after=2',
    meaning: 'seconds to wait, in the header or body where the vendor says it; needs status',
    read: number(86_400, (into, value) => {
      into.retryAfterSeconds = value
    }),
  },
  {
    name: 'error_text="any words"',
    meaning: 'message of the error; goes with status; one word needs no quotes',
    read: text((into, value) => {
      into.errorText = value
    }),
  },
  {
    name: 'error_code=word',
    meaning: 'code of the error; goes with status',
    read: text((into, value) => {
      into.errorCode = value
    }),
  },
  {
    name: 'soft',
    meaning: 'send the error with the status 200, as some vendors do; goes with status or quota',
    read: flag((into) => {
      into.soft = true
    }),
  },
  {
    name: 'quota',
    meaning: "the vendor's complaint about the operator's own account (no credit, arrears)",
    read: flag((into) => {
      into.quota = true
    }),
  },
  {
    name: 'times=2',
    meaning:
      'the bracket has effect only on the first 2 requests that carry exactly it; add any word of your own to distinguish brackets',
    read: number(countMax, (into, value) => {
      into.times = value
    }),
  },
  {
    name: 'delay_ms=2000',
    meaning: 'wait before the first byte',
    read: number(delayMsMax, (into, value) => {
      into.delayMs = value
    }),
  },
  {
    name: 'hang',
    meaning: 'accept the request and never answer',
    read: flag((into) => {
      into.hang = true
    }),
  },
  {
    name: 'redirect=URL',
    meaning: 'answer 302 with this Location',
    read: text((into, value) => {
      into.redirect = value
    }),
  },
  {
    name: 'garbage',
    meaning: 'answer 200 with text that is not JSON (streamed: one event that is not JSON)',
    read: flag((into) => {
      into.garbage = true
    }),
  },
  {
    name: 'tokens=300',
    meaning: 'length of the answer in tokens, unless a limit in the request is lower',
    read: number(tokensMax, (into, value) => {
      into.tokens = value
    }),
  },
  {
    name: 'token_delay_ms=50',
    meaning: 'wait between the chunks of a stream',
    read: number(delayMsMax, (into, value) => {
      into.tokenDelayMs = value
    }),
  },
  {
    name: 'reasoning=40',
    meaning: 'tokens spent on thinking',
    read: number(tokensMax, (into, value) => {
      into.reasoning = value
    }),
  },
  {
    name: 'cached=10',
    meaning: 'prompt tokens reported as read from a cache; a shorter prompt counts as this long',
    read: number(countMax, (into, value) => {
      into.cached = value
    }),
  },
  {
    name: 'written=10',
    meaning: 'prompt tokens reported as written to a cache, in addition to those read from it (messages)',
    read: number(countMax, (into, value) => {
      into.written = value
    }),
  },
  {
    name: 'prompt_tokens=5000',
    meaning: 'prompt tokens to report instead of the counted ones',
    read: number(countMax, (into, value) => {
      into.promptTokens = value
    }),
  },
  {
    name: 'usage=missing',
    meaning:
      'wrong usage: missing, negative, string, huge (2^53+1), overflow (1e308), nan (the bare word NaN), every_chunk (running totals on every chunk), late (messages: the true input only in the last report)',
    read: text((into, value) => {
      if (usageFaults.includes(value)) into.usage = value as UsageFault
    }),
  },
  {
    name: 'tool',
    meaning: 'call the first of the given tools; tool=2 calls the first two at once',
    read: (value, into) => {
      into.tool = value !== undefined && /^\d{1,2}$/.test(value) ? Number(value) : 1
    },
  },
  {
    name: 'images=3',
    meaning: 'how many images a model makes that decides so itself',
    read: number(imagesMax, (into, value) => {
      into.images = value
    }),
  },
  {
    name: 'blocked=1',
    meaning: 'how many of the images moderation keeps back',
    read: number(imagesMax, (into, value) => {
      into.blocked = value
    }),
  },
  {
    name: 'task_ms=3000',
    meaning: 'how long a video task takes',
    read: number(86_400_000, (into, value) => {
      into.task = { ...into.task, durationMs: value }
    }),
  },
  {
    name: 'task_end=failed',
    meaning: `how a video task ends: ${taskEnds.join(', ')}; error_text and error_code say why`,
    read: text((into, value) => {
      if (taskEnds.includes(value)) into.task = { ...into.task, end: value as TaskEnd }
    }),
  },
  {
    name: 'task_poll_status=500',
    meaning: 'polls in the first half of a video task fail with this status',
    read: number(599, (into, value) => {
      if (value >= 400) into.task = { ...into.task, pollStatus: value }
    }),
  },
  {
    name: 'empty',
    meaning: 'an answer with no output at all (no vectors, no images)',
    read: flag((into) => {
      into.empty = true
    }),
  },
  {
    name: 'refusal',
    meaning: 'an answer that the model refuses to give (messages)',
    read: flag((into) => {
      into.refusal = true
    }),
  },
  {
    name: 'unknown',
    meaning: 'blocks, pieces and events of kinds that no client knows yet (messages)',
    read: flag((into) => {
      into.unknown = true
    }),
  },
  {
    name: 'wide',
    meaning: 'multi-byte letters and emoji in the answer',
    read: flag((into) => {
      into.wide = true
    }),
  },
  {
    name: 'cut_after=10',
    meaning: 'cut the connection after 10 chunks of a stream; in the middle of a reply that is not streamed',
    read: number(countMax, (into, value) => {
      into.cutAfter = value
    }),
  },
  {
    name: 'error_after=5',
    meaning: 'error event after 5 chunks of a stream, then the end',
    read: number(countMax, (into, value) => {
      into.errorAfter = value
    }),
  },
  {
    name: 'no_done',
    meaning: 'end the stream without its closing event',
    read: flag((into) => {
      into.noDone = true
    }),
  },
  {
    name: 'no_stream',
    meaning: 'answer as a whole though a stream was asked for (speech)',
    read: flag((into) => {
      into.noStream = true
    }),
  },
  {
    name: 'crlf',
    meaning: 'end the lines of a stream by CR LF',
    read: flag((into) => {
      into.crlf = true
    }),
  },
  {
    name: 'split',
    meaning: 'write each event of a stream in several pieces, cut at odd bytes and inside characters',
    read: flag((into) => {
      into.split = true
    }),
  },
  {
    name: 'shuffle',
    meaning: 'vectors out of order (their index stays true)',
    read: flag((into) => {
      into.shuffle = true
    }),
  },
  {
    name: 'account=2',
    meaning:
      "the vendor's account that answers: what another account has sealed is refused; `unverified` is refused summaries of reasoning (responses)",
    read: text((into, value) => {
      into.account = value
    }),
  },
  {
    name: 'tier=flex',
    meaning: 'the service tier to report instead of the requested one (responses)',
    read: text((into, value) => {
      into.tier = value
    }),
  },
  {
    name: 'searches=2',
    meaning:
      'how many searches of the web to make, if a tool allows them, and to report (responses, messages, contents)',
    read: number(countMax, (into, value) => {
      into.searches = value
    }),
  },
  {
    name: 'interleave',
    meaning: 'events of several tool calls come mixed (responses)',
    read: flag((into) => {
      into.interleave = true
    }),
  },
  {
    name: 'keepalive',
    meaning: 'an event that says nothing after each of the others (responses)',
    read: flag((into) => {
      into.keepalive = true
    }),
  },
  {
    name: 'rotate_ids',
    meaning: 'another id of the same item in each event (responses)',
    read: flag((into) => {
      into.rotateIds = true
    }),
  },
  {
    name: 'empty_output',
    meaning: 'no output in the last event, though there was some (responses)',
    read: flag((into) => {
      into.emptyOutput = true
    }),
  },
  {
    name: 'finish=SAFETY',
    meaning: 'the reason to end the answer with instead of STOP, without content (generateContent)',
    read: text((into, value) => {
      into.finish = value
    }),
  },
  {
    name: 'block=SAFETY',
    meaning: 'the reason to refuse the prompt for, without an answer (generateContent)',
    read: text((into, value) => {
      into.block = value
    }),
  },
]

export const directiveHelp: readonly { name: string; meaning: string }[] = rules.map(({ name, meaning }) => ({
  name,
  meaning,
}))

const ruleByWord = new Map(rules.map((rule) => [rule.name.split('=')[0] ?? rule.name, rule]))

const opening = '[sandbox'
const bracket = /\[sandbox(\s[^\]]*)?\]/g
const word = /([a-z_]+)(?:=(?:"([^"]*)"|(\S+)))?/g

export function readDirectives(text: string): Directives {
  const directives: Directives = {}
  if (!text.includes(opening)) return directives
  for (const [, words] of text.matchAll(bracket)) {
    for (const [, name, quoted, plain] of (words ?? '').matchAll(word)) {
      ruleByWord.get(name ?? '')?.read(quoted ?? plain, directives)
    }
  }
  return directives
}

/** The brackets of a text, which distinguish one use of `times` from another. */
export function directiveMark(text: string): string {
  return [...text.matchAll(bracket)].map(([whole]) => whole).join('')
}

/** A text without its brackets, so that an answer which quotes it does not repeat them. */
export function withoutDirectives(text: string): string {
  return text.includes(opening) ? text.replace(bracket, ' ').replace(/ {2,}/g, ' ').trim() : text
}

/** Texts of a request body in which a bracket counts. */
export function promptText(body: unknown): string {
  const found: string[] = []
  collect(body, found, 0)
  return found.join('\n')
}

// Maximum depth that is searched. Prompts are less deep, and a hostile body must not exhaust the stack.
const depthMax = 24

function collect(value: unknown, found: string[], depth: number): void {
  if (typeof value === 'string') {
    if (value.includes(opening)) found.push(value)
    return
  }
  if (depth > depthMax || typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const messages = ['messages', 'input', 'contents'].includes(name) ? asArray(member) : undefined
    collect(messages ? currentMessages(messages) : member, found, depth + 1)
  }
}

/** The current turn: a bracket in an earlier turn must not break every later one. */
function currentMessages(messages: unknown[]): unknown[] {
  const roles = messages.map((message) => {
    const { role, parts } = asObject(message) ?? {}
    // Google's results of functions have the role of the user.
    return asObjects(parts).some((part) => 'functionResponse' in part) ? 'tool' : asString(role)
  })
  const lastUser = roles.lastIndexOf('user')
  if (lastUser === -1) return messages
  return messages.filter(
    (_message, index) => index === lastUser || roles[index] === 'system' || roles[index] === 'developer',
  )
}
