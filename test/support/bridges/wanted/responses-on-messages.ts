// Differences that are wanted between responses-on-messages and the family in its place.

import type { Json } from '../../scenario'
import {
  hasNamelessCalls,
  hasOtherBlocks,
  isAmong,
  isSentInPieces,
  isSentWhole,
  placeIn,
  type Row,
  wordsSent,
} from './messages-sent'

/** Whether all letters of one text are in another one, in order. */
function isWithin(text: string, other: string): boolean {
  const letters = [...text]
  let found = 0
  for (const letter of other) if (letter === letters[found]) found++
  return found === letters.length
}

const withoutGaps = (text: string) => text.replaceAll(/\s/g, '')

const SEALED = 'gw1.open.'
const SUMMARY = `${SEALED}compaction:`

/** The words in a response, without its calls. */
function wordsOf(output: Json[]): { said: string; thinking: string; signatures: string[] } {
  const words = { said: '', thinking: '', signatures: [] as string[] }
  for (const { type, content = [], summary = [], encrypted_content: sealed = '' } of output) {
    for (const { text, refusal } of content) words.said += text ?? refusal
    for (const { text } of summary) words.thinking += text
    if (type === 'compaction') words.said += sealed.slice(SUMMARY.length)
    else for (const { signature = '' } of blocksIn(sealed)) words.signatures.push(signature)
  }
  return words
}

/** The blocks of thinking in a sealed text, which may be a summary. */
const blocksIn = (sealed: string): Json[] =>
  sealed.startsWith(`${SEALED}{`) ? JSON.parse(sealed.slice(SEALED.length)).blocks : []

/** Words without the gaps between them, which a summary has. */
function closeWords(output: Json[]): Json {
  const { said, ...words } = wordsOf(output)
  return { ...words, said: withoutGaps(said) }
}

const isCall = ({ type }: Json): boolean => /call$/.test(type)

/** The calls of a response, without ids that are their places. */
const callsOf = (output: Json[]): Json[] =>
  output
    .filter(isCall)
    .map(({ id, ...call }) => ({ ...call, call_id: call.call_id.replace(/^call_a1.*/, '') }))

/** Calls, whether or not something has followed them. */
const madeBy = (output: Json[]): Json[] => callsOf(output).map(({ status: _, ...call }) => call)

const isNamed = ({ name }: Json): boolean => name !== ''

/** Whether two responses have the same calls, but for some with another input, which is meant. */
function areChanged(older: Json, newer: Json, isMeant: (before: string, now: string) => boolean): boolean {
  const [before, now] = [madeBy(older.answer.output), madeBy(newer.answer.output)]
  const changed = now.filter((call, place) => !Bun.deepEquals(call, before[place]))
  return (
    changed.length > 0 &&
    before.length === now.length &&
    changed.every((call) => {
      const { arguments: text, input, ...rest } = before[now.indexOf(call)]
      const { arguments: newText, input: newInput, ...newRest } = call
      return Bun.deepEquals(rest, newRest) && isMeant(text ?? input, newText ?? newInput)
    })
  )
}

/** Said where a model refuses without a reason. */
const REFUSAL = 'The model declined to answer.'

/** Whether a response has all the words of another one, and none that the vendor did not send. */
function saysWhatCame(older: Json[], newer: Json[], events: Json[]): boolean {
  const sent = wordsSent(events)
  const [before, now] = [wordsOf(older), wordsOf(newer)]
  const isKept = before.signatures.every((each) => each === '' || now.signatures.includes(each))
  const isSigned = now.signatures.every((each) => isWithin(each, sent.signatures))
  const hasAll = (['said', 'thinking'] as const).every((kind) => {
    const text = withoutGaps(now[kind])
    const isSent = isWithin(text, withoutGaps(sent[kind] + (kind === 'said' ? REFUSAL : '')))
    return isSent && isWithin(withoutGaps(before[kind]), text)
  })
  return isKept && isSigned && hasAll
}

/** The events of a stream by the items that they are of. Signs of life may come anywhere. */
function eventsByItem({ events }: Json): Json {
  const told = events.filter(({ name }: Json) => name !== 'keepalive')
  const byItem = Map.groupBy(told as Json[], ({ data }) => data?.output_index ?? 'whole')
  return [...byItem]
    .toSorted(([one], [other]) => String(one).localeCompare(String(other)))
    .map(([, list]) =>
      list.map(({ data }) => (data === '[DONE]' ? data : { ...data, sequence_number: undefined })),
    )
}

const EVENTS = /events\[\d+(?:\.\.\.\]|\].*)|timing\[\d+\]/.source
const SEALED_AT = /(?:reply|unpaid|answer|events\[\d+\]\.data)(?:\.response)?\.(?:output\[\d+\]|item)/.source

/** Faults that a protocol finds, once all is read. */
const FOUND_IN_WRITING =
  /there is nothing to answer|reads PDF files and texts|expected an http or https address|'input_image', and 'input_file'/

const partOf = (place: string): string => place.replace(/\.[a-z_]+$/, '')

export const responsesOnMessagesDifferences: readonly Row[] = [
  {
    where: /bridge\.(?:tools\[\]\.strict|tool_choice\.tools|input\[\]\.(?:content|output)\[\]\.file_url)/,
    reason: 'a field that was told of with its holder has a row of its own',
    matches: ({ older, newer }) => older === undefined && newer.treatment === 'translated',
  },
  {
    where: /check\.refused\.message/,
    reason: 'one text for what the protocol refuses',
    matches: ({ older, newer }) => placeIn(older) === placeIn(newer),
  },
  {
    where: /check\.refused\.(?:code|param|message)/,
    reason:
      'of two faults the one is named that is found in reading, and of one in a part first that of its content',
    matches: (_, { older: { check: before }, newer: { check: now } }) =>
      !FOUND_IN_WRITING.test(now.refused.message) &&
      ((now.refused.param.startsWith('text.format') && before.refused.param === 'reasoning.effort') ||
        FOUND_IN_WRITING.test(before.refused.message) ||
        partOf(before.refused.param) === partOf(now.refused.param)),
  },
  {
    where: /output\.least/,
    reason: 'what a model thinks is reserved where the thinking before its calls is filled in',
    matches: ({ older, newer }, { model, newer: { call } }) =>
      model === 'anthropic/kimi-k2.6' && newer === older + call[0].body.json.thinking.budget_tokens,
  },
  {
    where: new RegExp(`${SEALED_AT}\\.encrypted_content`),
    reason: 'thinking without a signature is of no use to a vendor that signs what it takes back',
    matches: ({ older, newer }) =>
      newer?.startsWith(`${SEALED}{`) &&
      Bun.deepEquals(
        blocksIn(newer),
        blocksIn(older).filter(({ signature }) => signature !== ''),
      ),
  },
  {
    where: new RegExp(`${EVENTS}|answer\\.(?:output\\b.*|completed_at|status|error|usage)`),
    reason: 'words of a block that has not begun, or has ended, are not lost',
    matches: (_, { body: { events }, older, newer }) =>
      wordsSent(events).isLoose &&
      saysWhatCame(older.answer.output, newer.answer.output, events) &&
      Bun.deepEquals(madeBy(older.answer.output), madeBy(newer.answer.output)),
  },
  {
    where: new RegExp(EVENTS),
    reason:
      'a call without a name begins when it is whole, one without arguments ends when another item begins, and of an answer that is cut the whole calls end first: each item has the same events',
    matches: (_, { older, newer }) => Bun.deepEquals(eventsByItem(older), eventsByItem(newer)),
  },
  {
    where: new RegExp(`${EVENTS}|(?:answer|reply|unpaid)\\.output\\b.*`),
    reason:
      'a call without a name, which nobody can make, is told of at the end, and not where the answer does not end by itself',
    matches: (_, { body, older, newer }) => {
      const [before, now] = [older, newer].map(({ answer, reply }) => (answer ?? reply).output as Json[]) as [
        Json[],
        Json[],
      ]
      const isWhole = (newer.answer ?? newer.reply).status === 'completed'
      // The first of two calls with one id keeps it.
      const [told, toldNow] = [before, now].map((output) =>
        madeBy(output).map(({ call_id: _, ...call }) => call),
      ) as [Json[], Json[]]
      return (
        hasNamelessCalls(body) &&
        isAmong(
          told.filter((call) => isWhole || isNamed(call)),
          toldNow,
        ) &&
        isAmong(toldNow, told) &&
        Bun.deepEquals(closeWords(before), closeWords(now))
      )
    },
  },
  {
    where: new RegExp(`${EVENTS}|answer\\.output\\[\\d+\\]\\.(?:arguments|input|status)`),
    reason: 'a call whose input came at once is whole, also where the answer is cut after it',
    matches: (_, { body: { events }, older, newer }) =>
      areChanged(older, newer, (before, now) => before === '' && isSentWhole(now, events)),
  },
  {
    where: new RegExp(`${EVENTS}|answer\\.output\\[\\d+\\]\\.(?:arguments|input|status)`),
    reason: 'the rest of a call that comes after its end is not lost',
    matches: (_, { body: { events }, older, newer }) =>
      areChanged(older, newer, (_before, now) => now !== '' && isSentInPieces(now, events)),
  },
  {
    where: new RegExp(`${EVENTS}|answer\\.output\\[\\d+\\]\\.(?:arguments|status)`),
    reason:
      'a call that only blocks of unknown kinds follow may have lost its arguments where an answer is not whole',
    matches: (_, { body: { events }, older, newer }) =>
      newer.answer.status !== 'completed' &&
      hasOtherBlocks(events) &&
      areChanged(older, newer, (before, now) => before === '{}' && now === ''),
  },
]
