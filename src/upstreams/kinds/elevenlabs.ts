// ElevenLabs: speech. Errors are `{detail: {status, message}}`, and an account without credits is a 401.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

export const elevenlabs: UpstreamKind = {
  kind: 'elevenlabs',
  baseUrl: 'https://api.elevenlabs.io/v1',
  secretVariable: 'ELEVENLABS_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  // `TextToSpeechClient` of @elevenlabs/elevenlabs-js 2.73.
  headers: (secret) => ({ 'xi-api-key': secret }),
  error(status, body) {
    const shape = readErrorShape(body)
    // A missing voice is the caller's mistake: help.elevenlabs.io/hc/en-us/articles/19572237925521.
    const operator = [401, 402, 403, 404].includes(status) && shape.code !== 'voice_not_found'
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
