// Simulates OpenAI's speech: a tone as long as the text, as a file that grows or in events, billed by the character or by
// tokens. It must never define the sound itself: that is the same in every simulator.

import { asObject, asString, isGiven, type JsonObject } from '../json'
import { countTokens } from '../pieces'
import { growingFile, jsonFrame } from '../replies'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { filePieces, samplesPerSecond } from '../sounds'
import { reportUsage } from '../usage'
import { errorReply, headers, unknownModel } from './errors'
import { badRequest, type Fault, invalidValue, missingParameter } from './fields'
import { isLenient } from './models'

const voices = ['alloy', 'ash', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage', 'shimmer']
const newerVoices = [...voices, 'ballad', 'cedar', 'marin', 'verse']
/** The voices of each model. Only the newer one counts tokens, and sends events. */
export const speechModels = new Map<string, readonly string[]>([
  ['tts-1', voices],
  ['tts-1-1106', voices],
  ['tts-1-hd', voices],
  ['tts-1-hd-1106', voices],
  ['gpt-4o-mini-tts', newerVoices],
  ['gpt-4o-mini-tts-2025-03-20', newerVoices],
  ['gpt-4o-mini-tts-2025-12-15', newerVoices],
])
const contentTypes: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}
const formats = Object.keys(contentTypes)
const charactersMax = 4096
const samplesPerCharacter = samplesPerSecond / 15
const tokensPerSecond = 20
const hertz = 440
const hertzBetweenVoices = 20

export function answerSpeech(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? ''
  const known = speechModels.get(model)
  if (!known && !isLenient(model))
    return model === '' ? errorReply(missingParameter('model')) : unknownModel(model)
  const fault = findFault(body, model, known)
  if (fault) return errorReply(fault)
  const input = asString(body.input) ?? ''
  const speed = typeof body.speed === 'number' ? body.speed : 1
  const samples = request.directives.empty ? 0 : Math.ceil(([...input].length * samplesPerCharacter) / speed)
  const voice = (known ?? []).indexOf(asString(body.voice) ?? '')
  const tone = { hertz: hertz + hertzBetweenVoices * Math.max(0, voice), samples }
  const format = asString(body.response_format) ?? 'mp3'
  // Servers that do not know the field send the file.
  const sendsEvents = known && body.stream_format === 'sse' && !request.directives.noStream
  return sendsEvents
    ? events(filePieces(tone, format), usageOf(request, body, samples))
    : growingFile(filePieces(tone, format), contentTypes[format] ?? '', headers())
}

function findFault(body: JsonObject, model: string, known?: readonly string[]): Fault | undefined {
  const input = asString(body.input)
  if (input === undefined) return missingParameter('input')
  if (input === '') return badRequest("'$.input' is invalid. Please check the API reference.", 'input', null)
  const format = body.response_format
  if (isGiven(format) && !formats.includes(String(format)))
    return invalidValue('response_format', format, formats)
  if (!known) return undefined
  if ([...input].length > charactersMax) {
    const message = `Invalid 'input': string too long. Expected a string with maximum length ${charactersMax}, but got a string with length ${input.length} instead.`
    return badRequest(message, 'input', 'string_above_max_length')
  }
  const voice = body.voice
  if (!isGiven(voice)) return missingParameter('voice')
  const isCustom = asString(asObject(voice)?.id)?.startsWith('voice_')
  if (!isCustom && !known.includes(String(voice))) return invalidValue('voice', voice, known)
  // `SpeechCreateParams` of the official SDK: "`sse` is not supported for `tts-1` or `tts-1-hd`."
  if (body.stream_format === 'sse' && model.startsWith('tts-1'))
    return invalidValue('stream_format', 'sse', ['audio'])
  return undefined
}

function usageOf({ directives }: VendorRequest, body: JsonObject, samples: number): JsonObject | undefined {
  const input =
    directives.promptTokens ??
    countTokens(asString(body.input) ?? '') + countTokens(asString(body.instructions) ?? '')
  const output = directives.tokens ?? Math.ceil((samples / samplesPerSecond) * tokensPerSecond)
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
  return reportUsage(usage, directives.usage)
}

function events(pieces: Iterable<Uint8Array>, usage: JsonObject | undefined): Reply {
  const frames = function* (): Generator<EventFrame> {
    for (const piece of pieces)
      yield jsonFrame({ type: 'speech.audio.delta', audio: Buffer.from(piece).toString('base64') })
  }
  const message = 'The server had an error while processing your request. Sorry about that!'
  const error = { type: 'server_error', code: null, message, param: null }
  const stream = {
    frames: frames(),
    last: jsonFrame({ type: 'speech.audio.done', ...(usage && { usage }) }),
    failure: jsonFrame({ type: 'error', error }),
  }
  return { status: 200, headers: headers(), body: { kind: 'events', stream } }
}
