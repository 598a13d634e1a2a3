// Simulates MiniMax: speech, a tone as long as the text, as hexadecimal digits in a reply or in events, billed by characters of which
// Chinese count twice; videos are in video.ts. Errors have the HTTP status 200, as the real ones. It must never accept another
// vendor's key.

import { asObject, asString, isGiven, type JsonObject } from '../json'
import { bearerToken, hexId, jsonFrame, jsonReply, retryAfterHeader } from '../replies'
import type { EventFrame, Reply, Simulator, VendorRequest } from '../simulator'
import { filePieces, samplesPerSecond } from '../sounds'
import { reportUsage } from '../usage'
import { VIDEO_FILE } from '../video-jobs'
import { video, videoModels } from './video'

const models = [
  'speech-2.8-hd',
  'speech-2.8-turbo',
  'speech-2.6-hd',
  'speech-2.6-turbo',
  'speech-02-hd',
  'speech-02-turbo',
]
const voices = [
  ...'English_expressive_narrator,English_radiant_girl,English_magnetic_voiced_man,English_compelling_lady1'.split(
    ',',
  ),
  ...'English_Aussie_Bloke,English_captivating_female1,English_Upbeat_Woman,English_Trustworth_Man'.split(
    ',',
  ),
  ...'English_CalmWoman,male-qn-qingse,male-qn-jingying,male-qn-badao,male-qn-daxuesheng'.split(','),
  ...'female-shaonv,female-yujie,female-chengshu,female-tianmei'.split(','),
]
/** A voice that somebody has cloned in this account. */
const ownVoice = 'MyVoice001'
const formats = ['mp3', 'pcm', 'flac', 'wav']
const fields = [
  'model',
  'text',
  'stream',
  'stream_options',
  'voice_setting',
  'audio_setting',
  'language_boost',
  'pronunciation_dict',
  'voice_modify',
  'output_format',
  'subtitle_enable',
]
/** platform.minimax.io/docs/api-reference/errorcode */
const code = { unknown: 1000, limited: 1002, refused: 1004, balance: 1008, invalid: 2013, voice: 20132 }
const charactersMax = 10_000
const [slowest, fastest] = [0.5, 2]
const samplesPerCharacter = samplesPerSecond / 15
const hertz = 440
const hertzBetweenVoices = 20

export const minimax: Simulator = {
  secret: 'sk-sandbox-minimax-0001',
  basePath: '',
  standIns: [
    ['/t2a_v2', 'speech-2.8-turbo'],
    ['/v1/video_generation', 'MiniMax-Hailuo-02'],
    ['/v2/video_generation', 'MiniMax-H3'],
  ],
  knows: (model) => models.includes(model) || videoModels.includes(model),

  refuse(request) {
    if (bearerToken(request) === minimax.secret) return undefined
    const message =
      "login fail: Please carry the API secret key in the 'Authorization' field of the request header"
    return { ...refusal(code.refused, message), status: 401 }
  },

  fail(_request, { status, text, code: word, retryAfterSeconds }) {
    const [number, sentence] = wordsFor(status)
    const reply = refusal(word ?? number, text ?? sentence)
    return { ...reply, status, headers: { ...reply.headers, ...retryAfterHeader(retryAfterSeconds) } }
  },

  outOfQuota: () => refusal(code.balance, 'insufficient balance'),

  answer(request) {
    const { method, path } = request
    const about = video(request)
    if (about) return about
    if (path === '/v1/models' && method === 'GET')
      return jsonReply(200, { object: 'list', data: models.map((id) => ({ id, object: 'model' })) })
    if (path !== '/v1/t2a_v2') return { status: 404, headers: {}, body: notFound }
    if (method !== 'POST') return { ...refusal(code.invalid, 'method not allowed'), status: 405 }
    const body = asObject(request.json)
    return body ? speech(request, body) : { ...refusal(code.invalid, 'invalid params, json'), status: 400 }
  },

  file: (path) => (path.endsWith('.mp4') ? VIDEO_FILE : undefined),
}

const notFound = { kind: 'json', value: { error: '404 page not found' } } as const

function speech(request: VendorRequest, body: JsonObject): Reply {
  const invalid = (message: string) => refusal(code.invalid, `invalid params, ${message}`)
  const { voice_id: voice, speed = 1 } = asObject(body.voice_setting) ?? {}
  const { format = 'mp3', sample_rate: rate = 32_000 } = asObject(body.audio_setting) ?? {}
  const text = asString(body.text) ?? ''
  const unknown = Object.keys(body).find((field) => !fields.includes(field))
  if (unknown !== undefined) return invalid(`unknown field '${unknown}'`)
  if (!models.includes(String(body.model))) return invalid(`unknown model '${String(body.model)}'`)
  const characters = [...text]
  if (characters.length === 0 || characters.length > charactersMax)
    return invalid(`text length should be between 1 and ${charactersMax}`)
  if (voice !== ownVoice && !voices.includes(String(voice)))
    return refusal(code.voice, 'invalid samples or voice_id')
  if (!formats.includes(String(format)) || (format === 'wav' && body.stream === true))
    return invalid('audio_setting.format')
  if (typeof speed !== 'number' || speed < slowest || speed > fastest) return invalid('voice_setting.speed')
  if (isGiven(rate) && typeof rate !== 'number') return invalid('audio_setting.sample_rate')
  const samples = request.directives.empty ? 0 : Math.ceil((characters.length * samplesPerCharacter) / speed)
  const tone = { hertz: hertz + hertzBetweenVoices * Math.max(0, voices.indexOf(String(voice))), samples }
  const pieces = [...filePieces(tone, String(format))]
  const made = { request, body, info: infoOf(request, characters, pieces, String(format)), pieces }
  return body.stream === true && !request.directives.noStream ? events(made) : whole(made)
}

interface Made {
  request: VendorRequest
  body: JsonObject
  info: JsonObject
  pieces: readonly Uint8Array[]
}

function infoOf(
  { directives }: VendorRequest,
  characters: readonly string[],
  pieces: readonly Uint8Array[],
  format: string,
): JsonObject {
  const wide = characters.filter((character) => /\p{Script=Han}/u.test(character)).length
  const billed = reportUsage({ usage_characters: characters.length + wide }, directives.usage)
  return {
    audio_length: Math.round((characters.length / 15) * 1000),
    audio_sample_rate: samplesPerSecond,
    audio_size: pieces.reduce((sum, { length }) => sum + length, 0),
    bitrate: 128_000,
    word_count: characters.length,
    invisible_character_ratio: 0,
    audio_format: format,
    audio_channel: 1,
    ...billed,
  }
}

const success = { status_code: 0, status_msg: 'success' }

function whole({ info, pieces }: Made): Reply {
  const data = { audio: Buffer.concat(pieces).toString('hex'), status: 2 }
  return jsonReply(200, { data, extra_info: info, trace_id: hexId(), base_resp: success })
}

function events({ body, info, pieces }: Made): Reply {
  const trace = hexId()
  const frames = function* (): Generator<EventFrame> {
    for (const piece of pieces) {
      const data = { audio: Buffer.from(piece).toString('hex'), status: 1, ced: '' }
      yield jsonFrame({ data, trace_id: trace, base_resp: success })
    }
  }
  const isLean = asObject(body.stream_options)?.exclude_aggregated_audio === true
  const data = { audio: isLean ? '' : Buffer.concat(pieces).toString('hex'), status: 2, ced: '' }
  const stream = {
    frames: frames(),
    last: jsonFrame({ data, extra_info: info, trace_id: trace, base_resp: success }),
    failure: jsonFrame({
      data: null,
      trace_id: trace,
      base_resp: { status_code: code.unknown, status_msg: 'unknown error' },
    }),
  }
  return { status: 200, headers: {}, body: { kind: 'events', stream } }
}

function refusal(status: number | string, message: string): Reply {
  const base = { status_code: status, status_msg: message }
  return jsonReply(200, { data: null, trace_id: hexId(), base_resp: base })
}

function wordsFor(status: number): [number: number, sentence: string] {
  if (status === 401) return [code.refused, 'login fail']
  if (status === 429) return [code.limited, 'rate limit exceeded(RPM)']
  return status >= 500 ? [code.unknown, 'unknown error'] : [code.invalid, 'invalid params']
}
