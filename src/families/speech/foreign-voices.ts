// Other providers' names of voices: clients send them to every provider, and the default voice speaks for them. Data only. A name
// that is not listed must go to the vendor, which knows its own voices.

/** Names of single voices, in any letter case, by provider. */
const NAMES = `
  alloy ash ballad coral echo fable onyx nova sage shimmer verse marin cedar

  Zephyr Puck Charon Kore Fenrir Leda Orus Aoede Callirrhoe Autonoe Enceladus Iapetus Umbriel Algieba
  Despina Erinome Algenib Rasalgethi Laomedeia Achernar Alnilam Schedar Gacrux Pulcherrima Achird
  Zubenelgenubi Vindemiatrix Sadachbia Sadaltager Sulafat

  ara eve leo rex sal

  Cherry Serena Ethan Chelsie Momo Vivian Moon Maia Kai Nofish Bella Mochi Bellona Vincent Bunny Neil Elias Nini Seren Pip Stella
  Jennifer Ryan Katerina Aiden Jada Dylan Li Marcus Roy Peter Sunny Eric Rocky Kiki

  Rachel Domi Antoni Elli Josh Arnold Adam Sam George Sarah Roger Laura Charlie Callum Liam Alice Matilda Will Jessica Eric Bella
  Daniel Lily Bill Harry

  Aditi Adriano Ambre Amy Andres Aria Arlet Arthur Astrid Ayanda Beatrice Bianca Brian Burcu Camila
  Carla Carmen Celine Chantal Conchita Cristiano Daniel Danielle Dora Elin Emma Enrique Ewa Filiz
  Florian Gabrielle Geraint Giorgio Gregory Gwyneth Hala Hannah Hans Hiujin Ida Ines Isabelle Ivy
  Jacek Jan Jasmine Jihye Jitka Joanna Joey Justin Kajal Karl Kazuha Kendra Kevin Kimberly Laura Lea
  Lennart Liam Lisa Liv Lorenzo Lotte Lucia Lupe Mads Maja Marlene Mathieu Matthew Maxim Mia Miguel
  Mizuki Naja Niamh Nicole Ola Olivia Pedro Penelope Raveena Remi Ricardo Ruben Russell Ruth Sabrina
  Salli Seoyeon Sergio Sofie Stephen Suvi Takumi Tatyana Thiago Tiffany Tomoko Vicki Vitoria Zayd
  Zeina Zhiyu
`
// OpenAI: `SpeechCreateParams` of its SDK 7.57. Google: https://ai.google.dev/gemini-api/docs/speech-generation. xAI: xai-sdk 1.21.
// Alibaba: dashscope.ts. ElevenLabs: its first premade voices, and elevenlabs.ts. Amazon: `VoiceId` of @aws-sdk/client-polly 3.1142. All as of
// November 2026.

const names = new Set(NAMES.toLowerCase().match(/\w+/g))

const PATTERNS: readonly RegExp[] = [
  // Azure and Google Cloud: `en-US-JennyNeural`, `en-US-Chirp3-HD-Kore`.
  /^[a-z]{2,3}(?:-[a-z]{4})?-[a-z]{2,3}-\w[\w:-]*$/i,
  // ElevenLabs: `21m00Tcm4TlvDq8ikWAM`.
  /^(?=.*\d)[A-Za-z0-9]{20}$/,
  // Cartesia and others: a UUID.
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  // Kokoro: `af_heart`, https://huggingface.co/hexgrad/Kokoro-82M.
  /^[a-z][fm]_[a-z]+$/,
  // Groq: `Fritz-PlayAI`.
  /-PlayAI$/i,
  // Deepgram: `aura-2-thalia-en`.
  /^aura-[\w-]+$/i,
]

/** Whether a name is a voice of another provider. */
export function isForeignVoice(voice: string): boolean {
  return names.has(voice.toLowerCase()) || PATTERNS.some((pattern) => pattern.test(voice))
}
