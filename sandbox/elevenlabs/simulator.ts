// Simulates ElevenLabs' speech: a tone as long as the text, as a file that grows. It must never accept another vendor's key, or a
// format that the stream does not have.

import { asObject, asString, isGiven, type JsonObject } from '../json'
import { growingFile, hexId, jsonReply, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { filePieces, samplesPerSecond } from '../sounds'

/** Models, each with the longest text: elevenlabs.io/docs/overview/models and help.elevenlabs.io/hc/en-us/articles/19572237925521. */
const models = new Map([
  ['eleven_v4', 10_000],
  ['eleven_v4_turbo', 10_000],
  ['eleven_v3', 5_000],
  ['eleven_multilingual_v2', 10_000],
  ['eleven_flash_v2_5', 40_000],
  ['eleven_flash_v2', 30_000],
  ['eleven_turbo_v2_5', 40_000],
  ['eleven_turbo_v2', 30_000],
])
const charactersUsual = 5_000
const voices =
  'JBFqnCBsd6RMkjVDRZzb,EXAVITQu4vr4xnSDxMaL,CwhRBWXzGAHq8TQ4Fs17,FGY2WhTYpPnrIDTdsKH5,IKne3meq5aSn9XLyUdCD,N2lVS1w4EtoT3dr4eOWO,TX3LPaxmHKxFdv7VOQHJ,Xb7hH8MSUJpSbSDYk0k2,XrExE9yKIg1WjnnlVkGX,bIHbv24MWmeRgasZH58o,cgSgspJ2msm6clMCkdW9,cjVigY5qzO86Huf0OWal,hpp4J3VqNfWAUOO0d1Us,onwK4e9ZLuTAKqWW03F9,pFZP5JQG7iQjIQuC4Bku,pNInz6obpgDQGcFmaJgB,pqHfZKP75CvOlQylNhV4,SOYHLrjzK2X1ezoPC6cr'.split(
    ',',
  )
/** The account's own voice, which only its operator may let callers use. */
const ownVoice = 'OwnVoiceOfTheSandbox'
const formats = new Map([
  ['mp3_44100_128', 'audio/mpeg'],
  ['opus_48000_128', 'audio/opus'],
  ['pcm_24000', 'audio/pcm'],
])
const fields = [
  'text',
  'model_id',
  'language_code',
  'voice_settings',
  'seed',
  'previous_text',
  'next_text',
  'apply_text_normalization',
]
const samplesPerCharacter = samplesPerSecond / 15
const hertz = 440
const hertzBetweenVoices = 20
const [slowest, fastest] = [0.7, 1.2]

export const elevenlabs: Simulator = {
  secret: 'sk_sandbox_elevenlabs_0001',
  basePath: '/v1',
  standIns: [['/text-to-speech/', 'eleven_multilingual_v2']],
  knows: (model) => models.has(model),

  refuse(request) {
    const key = request.headers['xi-api-key']
    if (key === elevenlabs.secret) return undefined
    return key === undefined
      ? refusal(
          401,
          'needs_authorization',
          'Neither authorization header nor xi-api-key received, please provide one.',
        )
      : refusal(401, 'invalid_api_key', 'Invalid API key')
  },

  fail(_request, { status, text, code, retryAfterSeconds }) {
    const [word, sentence] = wordsFor(status)
    const reply = refusal(status, code ?? word, text ?? sentence)
    return { ...reply, headers: { ...reply.headers, ...retryAfterHeader(retryAfterSeconds) } }
  },

  outOfQuota() {
    const message =
      'This request exceeds your quota of 10000. You have 3 credits remaining, while 6 credits are required.'
    return refusal(401, 'quota_exceeded', message)
  },

  answer(request) {
    const { method, path } = request
    if (path === '/v1/models' && method === 'GET') {
      const list = [...models.keys()].map((id) => ({ model_id: id, name: id, can_do_text_to_speech: true }))
      return jsonReply(200, list)
    }
    const [, voice] = /^\/v1\/text-to-speech\/([^/]+)\/stream$/.exec(path) ?? []
    if (voice === undefined) return refusal(404, 'not_found', 'Not Found')
    if (method !== 'POST') return refusal(405, 'method_not_allowed', 'Method Not Allowed')
    const body = asObject(request.json)
    return body
      ? speech(request, body, decodeURIComponent(voice))
      : invalid('Input should be a valid dictionary', [])
  },
}

function speech(request: VendorRequest, body: JsonObject, voice: string): Reply {
  const text = asString(body.text)
  if (text === undefined) return invalid('Field required', ['text'])
  const model = isGiven(body.model_id) ? String(body.model_id) : 'eleven_multilingual_v2'
  if (!models.has(model))
    return refusal(400, 'model_not_found', `A model with model ID ${model} does not exist.`)
  const unknown = Object.keys(body).find((field) => !fields.includes(field))
  if (unknown !== undefined) return invalid('Extra inputs are not permitted', [unknown])
  if (text === '') return refusal(400, 'input_text_empty', 'Input text is empty.')
  const most = models.get(model) ?? charactersUsual
  const characters = [...text].length
  if (characters > most) {
    const message = `This request's text has ${characters} characters and exceeds the character limit of ${most} characters for this model.`
    return refusal(400, 'max_character_limit_exceeded', message)
  }
  if (voice !== ownVoice && !voices.includes(voice))
    return refusal(400, 'voice_not_found', `A voice with the voice_id ${voice} was not found.`)
  const output = request.query.get('output_format') ?? 'mp3_44100_128'
  const contentType = formats.get(output)
  if (!contentType)
    return invalid(`Input should be one of ${[...formats.keys()].join(', ')}`, ['output_format'])
  const speed = asObject(body.voice_settings)?.speed ?? 1
  if (typeof speed !== 'number' || speed < slowest || speed > fastest) {
    const message = `Invalid setting for speed received, expected to be greater or equal to ${slowest} and less or equal to ${fastest}, received ${speed}`
    return refusal(400, 'invalid_voice_settings', message)
  }
  const samples = request.directives.empty ? 0 : Math.ceil((characters * samplesPerCharacter) / speed)
  const tone = { hertz: hertz + hertzBetweenVoices * voices.indexOf(voice), samples }
  const format = output.split('_')[0] ?? ''
  const headers = { 'request-id': hexId(20), 'character-cost': String(characters) }
  return growingFile(filePieces(tone, format), contentType, headers)
}

function refusal(status: number, word: string, message: string): Reply {
  return jsonReply(status, { detail: { status: word, message } }, { 'request-id': hexId(20) })
}

/** A fault of the form, in the words of its framework: `HTTPValidationError` of the SDK. */
function invalid(message: string, place: readonly string[]): Reply {
  return jsonReply(422, { detail: [{ type: 'invalid', loc: ['body', ...place], msg: message }] })
}

function wordsFor(status: number): [word: string, sentence: string] {
  if (status === 401) return ['invalid_api_key', 'Invalid API key']
  if (status === 429)
    return [
      'too_many_concurrent_requests',
      'Too many concurrent requests. Your current subscription is associated with a maximum of 5.',
    ]
  return status >= 500
    ? ['internal_error', 'An internal error occurred.']
    : ['bad_request', 'The request was refused.']
}
