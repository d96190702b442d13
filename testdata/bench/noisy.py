"""Sends requests at a rate, whatever the answers are: noisy.py address key rate."""

import http.client
import sys
import threading
import time

THREADS = 40
BODY = '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,1],"data":[5]}]}'
address, key, rate = sys.argv[1], sys.argv[2], float(sys.argv[3])


def send(number):
    connection = http.client.HTTPConnection(address)
    due = time.monotonic() + number / rate
    while True:
        time.sleep(max(0, due - time.monotonic()))
        due += THREADS / rate
        connection.request("POST", "/v2/models/m/infer", BODY, {"X-API-Key": key})
        connection.getresponse().read()


for n in range(THREADS):
    threading.Thread(target=send, args=(n,), daemon=True).start()
time.sleep(600)
