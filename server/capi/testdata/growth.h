// What growth.c asks of growth_backend.c, in the parameter "how".
#pragma once

enum { HOW_PLAIN, HOW_ALL, HOW_ERROR, HOW_AGAIN, HOW_LATE, HOW_COUNT };

#define ERROR_TEXT "this request is refused"
#define LATE_TEXT "this one is refused late"
