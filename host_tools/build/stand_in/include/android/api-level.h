// The level comes from the compiler's target.
#pragma once
#define __ANDROID_API_FUTURE__ 10000
