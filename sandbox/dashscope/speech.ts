// Qwen-TTS of the simulated DashScope: a tone as long as the text, its pitch set by the voice, in events or as an
// address. It must never accept what the real service refuses: an unknown voice, a text that is too long, foreign
// fields.

import { asObject, asString, isGiven, type JsonObject } from '../json'
import { hexId, jsonFrame, jsonReply } from '../replies'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { samplesPerSecond, type Tone, toneFile, tonePieces } from '../sounds'
import { reportUsage } from '../usage'
import { errorReply, headers, internalError, invalid } from './errors'

export const speechNames = /^qwen3-tts-(instruct-)?flash(-\d{4}-\d{2}-\d{2})?$/

const voices =
  'Cherry,Serena,Ethan,Chelsie,Momo,Vivian,Moon,Maia,Kai,Nofish,Bella,Eldric Sage,Mia,Mochi,Bellona,Vincent,Bunny,Neil,Elias,Arthur,Nini,Seren,Pip,Stella'.split(
    ',',
  )
const flashVoices = 'Jennifer,Ryan,Katerina,Aiden,Jada,Dylan,Li,Marcus,Roy,Peter,Sunny,Eric,Rocky,Kiki'.split(
  ',',
)
const allVoices = [...voices, ...flashVoices]
const languages =
  'Auto,Chinese,English,German,Italian,Portuguese,Spanish,Japanese,Korean,French,Russian'.split(',')
const charactersMax = 600
const samplesPerCharacter = 0.06 * samplesPerSecond
const samplesPerPiece = 0.2 * samplesPerSecond
const lowestHertz = 440
const hertzBetweenVoices = 20
const keptSeconds = 86_400

export function answerSpeech(request: VendorRequest, body: JsonObject): Reply {
  const input = asObject(body.input) ?? {}
  const instructed = (asString(body.model) ?? '').includes('-instruct-')
  if (request.headers['x-dashscope-async'] === 'enable') return refuseTask(request)
  const text = asString(input.text)
  if (text === undefined) return invalid(request, 'Field required: input.text')
  const characters = [...text]
  if (characters.length === 0 || characters.length > charactersMax) {
    return invalid(request, `Range of input length should be [1, ${charactersMax}]`)
  }
  const voice = asString(input.voice)
  if (voice === undefined) return invalid(request, 'Field required: input.voice')
  if (!(instructed ? voices : allVoices).includes(voice)) return refuseVoice(request, voice)
  if (isGiven(input.language_type) && !languages.includes(asString(input.language_type) ?? '')) {
    return invalid(request, `Input should be '${languages.join("', '")}': input.language_type`)
  }
  if (isGiven(input.instructions) && !instructed) {
    return invalid(request, 'instructions is not supported by this model: input.instructions')
  }
  const tone = {
    hertz: lowestHertz + hertzBetweenVoices * allVoices.indexOf(voice),
    samples: request.directives.empty ? 0 : characters.length * samplesPerCharacter,
  }
  const wantsEvents = request.headers['x-dashscope-sse'] === 'enable' && !request.directives.noStream
  return wantsEvents ? events(request, tone, characters) : whole(request, tone, characters)
}

function refuseTask(request: VendorRequest): Reply {
  const message = 'current user api does not support asynchronous calls.'
  return errorReply(request, { status: 403, code: 'AccessDenied', compatibleCode: 'access_denied', message })
}

function refuseVoice(request: VendorRequest, voice: string): Reply {
  const message = `The requested voice '${voice}' is not supported.`
  return errorReply(request, { status: 400, code: 'invalid_value', compatibleCode: 'invalid_value', message })
}

function whole(request: VendorRequest, tone: Tone, characters: string[]): Reply {
  const requestId = crypto.randomUUID()
  const output = outputOf('stop', { data: '', ...addressOf(request, tone) })
  const usage = usageOf(request, characters)
  const value = { status_code: 200, request_id: requestId, code: '', message: '', output, ...usage }
  return jsonReply(200, value, headers(requestId))
}

function events(request: VendorRequest, tone: Tone, characters: string[]): Reply {
  const requestId = crypto.randomUUID()
  const frames = function* (): Generator<EventFrame> {
    let number = 0
    for (const piece of tonePieces(tone, samplesPerPiece)) {
      const data = Buffer.from(piece).toString('base64')
      const output = outputOf('null', { data, url: '', id: '', expires_at: 0 })
      yield frame('result', 200, { output, request_id: requestId }, ++number)
    }
  }
  const last = { output: outputOf('stop', { data: '', ...addressOf(request, tone) }) }
  const [code, , message] = internalError
  const stream = {
    frames: frames(),
    last: frame('result', 200, { ...last, ...usageOf(request, characters), request_id: requestId }),
    failure: frame('error', 500, { code, message, request_id: requestId }),
  }
  return { status: 200, headers: headers(requestId), body: { kind: 'events', stream } }
}

/** An event in this vendor's form: numbered, with the status as a comment, and no spaces after the colons. */
function frame(event: string, status: number, value: unknown, number = 1): EventFrame {
  return { ...jsonFrame(value, event), id: String(number), comment: `HTTP_STATUS/${status}`, tight: true }
}

/** The output of an event. While audio is being made, the finish reason is the word "null". */
function outputOf(reason: 'null' | 'stop', audio: JsonObject): JsonObject {
  return { text: null, finish_reason: reason, choices: null, audio }
}

function addressOf(request: VendorRequest, { hertz, samples }: Tone): JsonObject {
  const id = hexId()
  if (samples === 0) return { url: '', id, expires_at: 0 }
  const expires = Math.floor(Date.now() / 1000) + keptSeconds
  const query = `Expires=${expires}&OSSAccessKeyId=sandbox&Signature=sandbox`
  return {
    url: `${request.filesUrl}/1d/${id}/${hertz}-${samples}.wav?${query}`,
    id: `audio_${id}`,
    expires_at: expires,
  }
}

/** The file at an address; undefined if it was never given out, or has expired. */
export function speechFile(path: string, query: URLSearchParams) {
  const [, hertz, samples] = /^\/1d\/[0-9a-f]{32}\/(\d{3,4})-(\d{1,7})\.wav$/.exec(path) ?? []
  if (samples === undefined || !(Number(query.get('Expires')) * 1000 > Date.now())) return undefined
  return {
    bytes: toneFile({ hertz: Number(hertz), samples: Number(samples) }),
    contentType: 'audio/wav',
  }
}

/** Usage. Chinese characters count twice. */
function usageOf(request: VendorRequest, characters: string[]): JsonObject {
  const wide = characters.filter((character) => /\p{Script=Han}/u.test(character)).length
  const usage = reportUsage({ characters: characters.length + wide }, request.directives.usage)
  return usage ? { usage } : {}
}
