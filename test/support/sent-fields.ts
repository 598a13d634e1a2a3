// Fields as callers send them: as JSON, or as a form if one of them is a file; and small files.

import { picture } from '../../sandbox/pictures'
import { wavOf } from '../../src/lib/file-formats/wav'

const SAMPLE_RATE = 8_000

/** The body of a request, with the headers that belong to it. */
export function sentFields(fields: Readonly<Record<string, unknown>>): Pick<RequestInit, 'body' | 'headers'> {
  if (!hasFile(fields)) {
    return { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } }
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value as string | File)
  return { body: form, headers: {} }
}

export function hasFile(fields: Readonly<Record<string, unknown>>): boolean {
  return Object.values(fields).some((value) => value instanceof File)
}

/** A PNG of 64 by 64 pixels. */
export function foxPicture(): File {
  const { bytes, contentType } = picture('png', 64, 64)
  return new File([bytes as Uint8Array<ArrayBuffer>], 'fox.png', { type: contentType })
}

/** A WAV file without a sound. */
export function silentSound(seconds: number): File {
  const samples = new Uint8Array(2 * SAMPLE_RATE * seconds)
  const wav = wavOf({ sampleRate: SAMPLE_RATE, channels: 1 }, [samples])
  return new File([new Uint8Array(wav)], 'sky.wav', { type: 'audio/wav' })
}
